from faults.workers import next_version, worker

worker.main(next_version.build)
