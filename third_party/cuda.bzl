"""`@local_cuda`: the CUDA toolkit under CUDA_HOME (default /usr/local/cuda), used by --config=cuda."""

def _cuda_repository_impl(ctx):
    home = ctx.os.environ.get("CUDA_HOME", "/usr/local/cuda")
    nvcc = ctx.path(home + "/bin/nvcc")
    lines = ['package(default_visibility = ["//visibility:public"])']
    if nvcc.exists:
        ctx.symlink(home + "/include", "include")
        ctx.file("nvcc.sh", "#!/bin/sh\nexec %s/bin/nvcc \"$@\"\n" % home, executable = True)
        lib = home + "/lib64"
        lines.append("""
filegroup(name = "nvcc", srcs = ["nvcc.sh"])

cc_library(
    name = "cudart",
    includes = ["include"],
    linkopts = ["-L{lib}", "-Wl,-rpath,{lib}", "-lcudart"],
)

cc_library(name = "cublas", linkopts = ["-lcublas"], deps = [":cudart"])
""".format(lib = lib))
    else:
        message = "--config=cuda needs a CUDA toolkit, and there is no %s. Install one, or set CUDA_HOME to where it is." % nvcc
        for name in ["nvcc", "cudart", "cublas"]:
            lines.append("""
genrule(
    name = "%s",
    outs = ["%s.missing"],
    cmd = "echo '%s' >&2; exit 1",
)
""" % (name, name, message))
    ctx.file("BUILD.bazel", "\n".join(lines))

cuda_repository = repository_rule(
    implementation = _cuda_repository_impl,
    local = True,
    environ = ["CUDA_HOME"],
)
