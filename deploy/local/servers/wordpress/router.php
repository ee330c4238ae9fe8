<?php
// What a web server's rewrite rules do, for the one that comes with PHP: files as they are, all else to WordPress.
$path = urldecode(parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH));
$root = $_SERVER['DOCUMENT_ROOT'];
if ($path !== '/' && is_file($root . $path)) {
    return false;
}
$index = rtrim($path, '/') . '/index.php';
$script = $path !== '/' && is_file($root . $index) ? $index : '/index.php';
$_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = $script;
chdir(dirname($root . $script));
require $root . $script;
