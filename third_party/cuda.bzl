"""`@local_cuda`: the CUDA toolkit under CUDA_HOME (default /usr/local/cuda), used by --config=cuda."""

_TOOLKIT = """
filegroup(name = "nvcc", srcs = ["nvcc.sh"])

# To link: the headers are for nvcc alone, which finds them by itself.
cc_library(name = "cudart", linkopts = ["-L{lib}", "-Wl,-rpath,{lib}", "-lcudart"])

cc_library(name = "cublas", linkopts = ["-lcublas"], deps = [":cudart"])
"""

# Without a toolkit the targets still exist, so that queries work; building one says what is missing.
_MISSING = """
genrule(
    name = "explain",
    outs = ["missing.cc"],
    cmd = "echo; echo '{message}'; echo; exit 1",
)

filegroup(name = "nvcc", srcs = ["nvcc.sh"])

cc_library(name = "cudart", srcs = [":explain"])

cc_library(name = "cublas", srcs = [":explain"])
"""

def _cuda_repository_impl(ctx):
    home = ctx.os.environ.get("CUDA_HOME", "/usr/local/cuda")
    nvcc = home + "/bin/nvcc"
    header = 'package(default_visibility = ["//visibility:public"])\n'
    if ctx.path(nvcc).exists:
        # The version stands in it, so that another toolkit compiles everything again.
        version = ctx.execute([nvcc, "--version"]).stdout.strip().replace("\n", "\n# ")
        ctx.file("nvcc.sh", "#!/bin/sh\n# %s\nexec %s \"$@\"\n" % (version, nvcc), executable = True)
        targets = _TOOLKIT.format(lib = home + "/lib64")
    else:
        message = "--config=cuda needs a CUDA toolkit, and there is no %s. Install one, or set CUDA_HOME to where it is." % nvcc
        ctx.file("nvcc.sh", "#!/bin/sh\necho >&2\necho '%s' >&2\nexit 1\n" % message, executable = True)
        targets = _MISSING.format(message = message)
    ctx.file("BUILD.bazel", header + targets)

cuda_repository = repository_rule(
    implementation = _cuda_repository_impl,
    local = True,
    environ = ["CUDA_HOME"],
)
