<?php
// install.php SITE CREDENTIALS URL: sets WordPress up once, with an editor and an author who have application passwords.
[, $site, $credentials, $url] = $argv;
$parts = parse_url($url);
$_SERVER += [
    'HTTP_HOST' => "{$parts['host']}:{$parts['port']}",
    'SERVER_NAME' => $parts['host'],
    'SERVER_PROTOCOL' => 'HTTP/1.1',
    'REQUEST_METHOD' => 'GET',
    'REQUEST_URI' => '/',
];
define('WP_INSTALLING', true);
require "$site/wp-load.php";
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
add_filter('pre_wp_mail', fn () => true);
if (!is_blog_installed()) {
    wp_install('Daily Grind', 'admin', 'admin@example.org', true, '', wp_slash('admin-has-a-password'));
    update_option('permalink_structure', '/%postname%/');
    update_option('template', 'bare');
    update_option('stylesheet', 'bare');
    flush_rewrite_rules();
}
$known = is_file($credentials) ? json_decode(file_get_contents($credentials), true) : [];
$users = $known['users'] ?? [];
foreach (['editor', 'author', 'contributor'] as $role) {
    $user = get_user_by('login', $role);
    $id = $user ? $user->ID : wp_create_user($role, "$role-has-a-password", "$role@example.org");
    (new WP_User($id))->set_role($role);
    if (!isset($users[$role])) {
        // Those of an earlier start are known to nobody, and a name is given once.
        WP_Application_Passwords::delete_all_application_passwords($id);
        [$password] = WP_Application_Passwords::create_new_application_password($id, ['name' => 'tests']);
        $users[$role] = ['user' => $role, 'password' => WP_Application_Passwords::chunk_password($password)];
    }
}
touch($credentials);
chmod($credentials, 0600);
file_put_contents($credentials, json_encode(['url' => $url, 'version' => get_bloginfo('version'), 'users' => $users]));
