fn main() -> std::process::ExitCode {
    aof::cli::program::main()
}
