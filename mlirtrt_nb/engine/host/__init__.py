"""Native code for functions of upstream dialects: lowered to LLVM, compiled in this process, run on arrays."""
