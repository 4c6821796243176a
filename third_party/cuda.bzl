"""`@local_cuda`: the CUDA toolkit under CUDA_HOME (default /usr/local/cuda), used by --config=cuda."""

def _cuda_repository_impl(ctx):
    home = ctx.os.environ.get("CUDA_HOME", "/usr/local/cuda")
    nvcc = home + "/bin/nvcc"
    message = None
    if not ctx.path(nvcc).exists:
        message = "--config=cuda needs a CUDA toolkit, and there is no %s. Install one, or set CUDA_HOME to where it is." % nvcc
    elif not (ctx.path(home + "/include/cudnn.h").exists or ctx.path("/usr/include/cudnn.h").exists):
        message = "--config=cuda needs cuDNN 9.8 or newer, and there is no cudnn.h in %s/include or /usr/include. Install it, or unpack it into the toolkit." % home
    elif not (ctx.path(home + "/include/nccl.h").exists or ctx.path("/usr/include/nccl.h").exists):
        message = "--config=cuda needs NCCL 2.18 or newer, and there is no nccl.h in %s/include or /usr/include. Install it, or unpack it into the toolkit." % home
    if message == None:
        # The version stands in it, so that another toolkit compiles everything again.
        version = ctx.execute([nvcc, "--version"]).stdout.strip().replace("\n", "\n# ")
        script = "#!/bin/sh\n# %s\nexec %s \"$@\"\n" % (version, nvcc)
    else:
        script = "#!/bin/sh\necho >&2\necho '%s' >&2\nexit 1\n" % message
    ctx.file("nvcc.sh", script, executable = True)
    ctx.file("BUILD.bazel", """package(default_visibility = ["//visibility:public"])

filegroup(name = "nvcc", srcs = ["nvcc.sh"])
""")

    # Only options: a library of this repository would add it to the include path of everything that
    # depends on it, and compile all of that again.
    ctx.file("link.bzl", """CUDART_LINKOPTS = ["-L{lib}", "-Wl,-rpath,{lib}", "-lcudart"]
CUBLAS_LINKOPTS = ["-lcublas", "-lcublasLt"]
CUDNN_LINKOPTS = ["-lcudnn"]
NCCL_LINKOPTS = ["-lnccl"]
""".format(lib = home + "/lib64"))

cuda_repository = repository_rule(
    implementation = _cuda_repository_impl,
    local = True,
    environ = ["CUDA_HOME"],
)
