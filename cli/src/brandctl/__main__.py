from brandctl.app import main

main()
