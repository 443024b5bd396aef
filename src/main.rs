//! The program.

/// The system's own allocator keeps what each thread has freed, which makes a server several times as large.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    aof::cli::program::main()
}
