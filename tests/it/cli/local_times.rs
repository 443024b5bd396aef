//! Times: the person's own at a terminal, UTC for programs.

use crate::support::environment::TestEnvironment;
use crate::support::terminal::Seat;

fn at_terminal(env: &TestEnvironment, zone: &str, args: &[&str]) -> String {
    let seat = Seat::with(env, args, |command| {
        command.env("TZ", zone).env("TERM", "xterm").env("NO_COLOR", "1");
    });
    let (status, screen) = seat.ends();
    assert!(status.success(), "{screen}");
    screen
}

#[test]
fn at_a_terminal_times_are_the_persons_own_elsewhere_they_are_utc() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let shown = env.aof(&["task", "show", &id, "--json"]).json();
    let utc: jiff::Timestamp = shown["updated"].as_str().unwrap().parse().unwrap();
    let exact: [&[&str]; 4] = [
        &["-v", "task", "show", &id],
        &["-v", "task", "history", &id],
        &["-v", "why", &id],
        &["-v", "events"],
    ];
    let short: [&[&str]; 3] = [&["why", &id], &["list", "--columns", "id,updated"], &["events"]];
    for args in short {
        for zone in ["Europe/Berlin", "Asia/Kolkata", "UTC", "America/New_York"] {
            let local = utc.in_tz(zone).unwrap();
            let screen = at_terminal(&env, zone, args);
            assert!(screen.contains(&local.strftime("%H:%M").to_string()), "{zone}: {screen}");
            let mut piped = env.aof_command(args);
            piped.env("TZ", zone);
            let piped = env.run(piped).success();
            let dated = local.strftime("%b %-d, %H:%M").to_string();
            assert!(piped.stdout.contains(&dated), "{zone}: {piped}");
        }
        let json = env.aof(&[args, &["--json"]].concat()).success();
        assert!(json.stdout.contains(&utc.to_string()), "{json}");
    }
    for args in exact {
        for zone in ["Europe/Berlin", "Asia/Kolkata", "UTC", "America/New_York"] {
            let local = utc.in_tz(zone).unwrap().strftime("%Y-%m-%d %H:%M %z").to_string();
            let screen = at_terminal(&env, zone, args);
            assert!(screen.contains(&local), "{zone}, {args:?}: {local} in {screen}");
            let mut piped = env.aof_command(args);
            piped.env("TZ", zone);
            let piped = env.run(piped).success();
            assert!(piped.stdout.contains(&utc.to_string()), "{zone}: {piped}");
        }
        let json = env.aof(&[args, &["--json"]].concat()).success();
        assert!(json.stdout.contains(&utc.to_string()), "{json}");
    }
    // A zone that the system does not know is none.
    let screen = at_terminal(&env, "Nowhere/Land", &["events"]);
    assert!(screen.contains("Add login") || screen.contains(&id), "{screen}");
}
