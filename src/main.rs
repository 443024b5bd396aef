//! The program.

/// The allocator. The system's own one keeps the memory that each thread has freed, which makes a server several times as large.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    aof::cli::program::main()
}
