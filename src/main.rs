fn main() -> std::process::ExitCode {
    aof::cli::main()
}
