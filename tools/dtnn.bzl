"""The rules that BUILD files of this repository use, and the only place that names Bazel's own.

    dtnn_cc_library, dtnn_cc_binary   C++20 libraries and programs
    dtnn_shared_library               a shared library that shows only what a version script names
    dtnn_python_extension             a module of Python in C++
    dtnn_python_test                  a test that is a script of Python
    dtnn_cc_test                      a GoogleTest test (main included)
    dtnn_simd_test                    one that runs once for every instruction set of the SIMD kernels
    dtnn_mpi_test                     a GoogleTest test whose processes are ranks under mpirun
    dtnn_sh_test, dtnn_sh_binary      a test, a program that is a shell script
    dtnn_cc_benchmark                 a Google Benchmark program that `bazel test` runs once, briefly
    dtnn_fuzz_test                    a libFuzzer target whose corpus `bazel test` replays
    dtnn_proto_library                the C++ code of a .proto file
    dtnn_grpc_library                 that of the services in it
    dtnn_precompiled_header           what the compiler reads once for many files
    dtnn_cuda_library                 .cu files compiled by nvcc, only with --config=cuda
    dtnn_gpu_library                  .cu files compiled by nvcc with it, and for simulated GPUs without
    dtnn_cuda_objects                 the same, as sources of another library
    dtnn_component                    a part of the installation
    dtnn_debian_packages              the installation as packages of Debian
    dtnn_python_wheel                 the package for Python as a wheel
    dtnn_link_only                    the code of a library without its headers
    if_cuda                           a list that is empty without --config=cuda
    DTNN_VERSION, DTNN_SONAME_VERSION the version (tools/version.bzl)
    DTNN_PROGRAMS                     the programs, which are also what is installed
"""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")
load("//packaging:component.bzl", "component")
load("//packaging:deb.bzl", "debian_packages")
load("//tools:link_only.bzl", "link_only")
load("//tools:python_wheel.bzl", "python_wheel")
load("//tools:version.bzl", _SONAME_VERSION = "DTNN_SONAME_VERSION", _VERSION = "DTNN_VERSION")
load("//tools/pch:precompiled_header.bzl", "precompiled_header")

DTNN_VERSION = _VERSION
DTNN_SONAME_VERSION = _SONAME_VERSION
DTNN_PROGRAMS = ["//apps:benchmark"] + ["//apps/" + name for name in [
    "aggregator",
    "best_of",
    "check_dataset",
    "convert_imagenet",
    "export",
    "import",
    "inspect",
    "launch",
    "make_certificates",
    "predict",
    "quantize",
    "report",
    "scale_model",
    "serve",
    "simulate",
    "sweep",
]]
dtnn_component = component
dtnn_debian_packages = debian_packages
dtnn_link_only = link_only
dtnn_python_wheel = python_wheel

_STANDARD_COPTS = ["-std=c++20"]

# Results must not depend on which products a compiler happens to contract into an FMA: kernels that
# want one say so.
_COPTS = _STANDARD_COPTS + ["-ffp-contract=off"]

# Tests spend their time in the libraries that they test, so compiling them quickly is worth more
# than what the optimiser could gain: a fifth of the time of `bazel build //...`.
_TEST_COPTS = ["-O1"]

def if_cuda(with_cuda, without = []):
    return select({
        "@dtnn//tools:cuda": with_cuda,
        "//conditions:default": without,
    })

# What most files include is compiled once (tools/pch).
_PCH = ["@dtnn//tools/pch:libraries"]
_TEST_PCH = ["@dtnn//tools/pch:tests"]

# GCC 12 can crash on what was precompiled with another level of optimisation.
def _sets_level(copts):
    return type(copts) == "list" and [copt for copt in copts if copt.startswith("-O")]

def _copts(copts):
    if _sets_level(copts):
        return _COPTS + copts
    return _COPTS + ["-include", "tools/pch/libraries.h"] + copts

def _test_copts(copts):
    return _COPTS + _TEST_COPTS + ["-include", "tools/pch/tests.h"] + copts

def dtnn_precompiled_header(name, src, deps, for_tests = False):
    """`src` as "tools/pch/<name>.h", which the compiler reads once for all libraries and programs, or
    for all tests."""
    precompiled_header(
        name = name,
        src = src,
        copts = _COPTS + (_TEST_COPTS if for_tests else []),
        deps = deps,
    )

def dtnn_cc_library(name, copts = [], deps = [], cuda_deps = [], gpu_deps = [], **kwargs):
    """A library. `cuda_deps` are dtnn_cuda_library's: their headers are always there, so that with
    and without GPUs everything else compiles alike; with --config=cuda the library's own sources see
    DTNN_WITH_CUDA and their code is linked. `gpu_deps` are dtnn_gpu_library's: always linked."""
    if cuda_deps:
        copts = copts + if_cuda(["-DDTNN_WITH_CUDA"])
        deps = deps + cuda_deps + if_cuda([dep + "_link" for dep in cuda_deps])
    deps = deps + gpu_deps + [dep + "_link" for dep in gpu_deps]
    cc_library(name = name, copts = _copts(copts), deps = deps + _PCH, **kwargs)

def dtnn_cc_binary(name, copts = [], deps = [], **kwargs):
    folder = native.package_name()
    label = "//" + folder + ("" if folder.endswith("/" + name) else ":" + name)
    if folder.split("/")[0] == "apps" and not kwargs.get("testonly") and label not in DTNN_PROGRAMS:
        fail("%s is not in DTNN_PROGRAMS of tools/dtnn.bzl, so it would not be installed" % label)
    cc_binary(name = name, copts = _copts(copts), deps = deps + _PCH, **kwargs)

def dtnn_shared_library(name, soname, version_script, deps, linkopts = [], **kwargs):
    """"lib<x>.so" of what its deps need; of them only what has alwayslink is linked without being
    called."""
    cc_binary(
        name = name,
        linkshared = True,
        additional_linker_inputs = [version_script],
        linkopts = linkopts + [
            "-Wl,-soname," + soname,
            "-Wl,--version-script,$(location %s)" % version_script,
            # gold shows functions of libstdc++'s templates all the same.
            "-fuse-ld=bfd",
        ],
        features = ["force_no_whole_archive", "-supports_start_end_lib"],
        deps = deps,
        **kwargs
    )

def dtnn_python_extension(name, srcs, deps, version_script):
    """"<folder>/<module>.so": a module of Python in C++, for the system's Python, which shows only
    what its version script names."""
    cc_library(
        name = name + "_code",
        srcs = srcs,
        # As pybind11 wants it; what was precompiled has other flags.
        copts = _COPTS + ["-fvisibility=hidden"],
        deps = deps + ["@pybind11//:pybind11"],
        # The module's entry, which nothing in it calls.
        alwayslink = True,
    )
    dtnn_shared_library(
        name = name,
        soname = name.split("/")[-1],
        version_script = version_script,
        # Threads of loops keep waiting for work.
        linkopts = ["-Wl,-z,nodelete"],
        deps = [":" + name + "_code"],
    )

def dtnn_cc_test(
        name,
        deps = [],
        copts = [],
        size = "small",
        main = "@com_google_googletest//:gtest_main",
        **kwargs):
    cc_test(
        name = name,
        size = size,
        copts = _test_copts(copts),
        deps = deps + [main] + _TEST_PCH + select({
            "@dtnn//tools:sanitizer": ["@dtnn//tools/testing:tsan_suppressions"],
            "//conditions:default": [],
        }),
        **kwargs
    )

def dtnn_simd_test(name, **kwargs):
    """Tests of a kernel: the log says which instruction set a failure belongs to."""
    dtnn_cc_test(name = name, main = "@dtnn//kernels/testing:simd_main", **kwargs)

def dtnn_python_test(name, src, args = [], data = [], **kwargs):
    """`src`, a script of Python, with the package that //apps/python builds."""
    dtnn_sh_test(
        name = name,
        srcs = ["@dtnn//tools/testing:python_test.sh"],
        args = ["$(location %s)" % src] + args,
        data = data + [src, "@dtnn//apps/python:dtnn"],
        **kwargs
    )

# Newer releases of Bazel have these two in @rules_shell, and nowhere else.
def dtnn_sh_test(name, **kwargs):
    native.sh_test(name = name, **kwargs)

def dtnn_sh_binary(name, **kwargs):
    native.sh_binary(name = name, **kwargs)

def dtnn_mpi_test(name, deps = [], copts = [], ranks = [1, 2, 3, 4], size = "medium", mpirun = [], **kwargs):
    """`<name>_<r>` runs the test as r ranks of a real mpirun on this host; `<name>` is all of them.

    Every rank runs all tests (main included: //comm/testing:mpi_test.h); one that fails fails the
    test. `mpirun`: options of it beside those that //tools/testing:mpi_test.sh gives.
    """
    dtnn_cc_binary(
        name = name + "_program",
        testonly = True,
        copts = copts,
        deps = deps + ["@dtnn//comm/testing:mpi_test"],
        **kwargs
    )
    for count in ranks:
        dtnn_sh_test(
            name = "%s_%d" % (name, count),
            size = size,
            srcs = ["@dtnn//tools/testing:mpi_test.sh"],
            args = [str(count), "$(location :%s_program)" % name] + mpirun,
            data = [":%s_program" % name, "@dtnn//tools/testing:mpi_environment"],
            tags = ["cpu:%d" % min(count, 2)],
        )
    native.test_suite(
        name = name,
        tests = [":%s_%d" % (name, count) for count in ranks],
    )

def dtnn_cc_benchmark(name, deps = [], copts = [], tags = [], **kwargs):
    cc_test(
        name = name,
        size = "medium",
        copts = _copts(copts),
        tags = tags + ["benchmark"],
        deps = deps + ["@com_google_benchmark//:benchmark_main"] + _PCH,
        args = ["--benchmark_min_time=0.001"],
        **kwargs
    )

def dtnn_fuzz_test(name, srcs, corpus, deps = [], copts = [], **kwargs):
    """`bazel test :name` replays `corpus`; `bazel run --config=fuzz :name -- DIR` goes on fuzzing.

    With --config=fuzz there is no end without -max_total_time or -runs: run it, do not test it.
    """
    cc_test(
        name = name,
        size = "small",
        srcs = srcs,
        copts = _copts(copts),
        # libFuzzer's main; the libraries are instrumented by the configuration itself.
        linkopts = select({
            "@dtnn//tools:fuzz": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        data = corpus,
        args = select({
            "@dtnn//tools:fuzz": [],
            "//conditions:default": ["$(locations %s)" % label for label in corpus],
        }),
        deps = deps + select({
            "@dtnn//tools:fuzz": [],
            "//conditions:default": ["@dtnn//tools/testing:replay_main"],
        }) + _PCH,
        tags = ["fuzz"],
        **kwargs
    )

def dtnn_proto_library(name, src, **kwargs):
    """`src`, "<x>.proto" of this package, as a C++ library with the header "<package>/<x>.pb.h"."""
    stem = src[:-len(".proto")]
    outs = [stem + ".pb.h", stem + ".pb.cc"]
    package = native.package_name()
    native.genrule(
        name = name + "_code",
        srcs = [src],
        outs = outs,
        # From the roots of the sources and of the outputs, which are not the working directory where
        # this repository is a part of another.
        cmd = " && ".join([
            "source=./$$(dirname $(location %s))" % src,
            "out=$(RULEDIR)",
            "$(location @com_google_protobuf//:protoc) --proto_path=$${source%%/%s} --cpp_out=$${out%%/%s} $(location %s)" %
            (package, package, src),
        ]),
        tools = ["@com_google_protobuf//:protoc"],
    )
    cc_library(
        name = name,
        srcs = [outs[1]],
        hdrs = [outs[0]],
        copts = _STANDARD_COPTS + ["-w"],  # generated code owes nothing to our warnings
        deps = ["@com_google_protobuf//:protobuf"],
        **kwargs
    )

def dtnn_grpc_library(name, src, proto, **kwargs):
    """The services of `src`, whose messages are the dtnn_proto_library `proto`, as a C++ library with
    the header "<package>/<x>.grpc.pb.h"."""
    stem = src[:-len(".proto")]
    outs = [stem + ".grpc.pb.h", stem + ".grpc.pb.cc"]
    package = native.package_name()
    native.genrule(
        name = name + "_code",
        srcs = [src],
        outs = outs,
        cmd = " && ".join([
            "source=./$$(dirname $(location %s))" % src,
            "out=$(RULEDIR)",
            "$(location @com_google_protobuf//:protoc) --proto_path=$${source%%/%s} --grpc_out=$${out%%/%s} --plugin=protoc-gen-grpc=$(location @com_github_grpc_grpc//:grpc_cpp_plugin) $(location %s)" %
            (package, package, src),
        ]),
        tools = ["@com_google_protobuf//:protoc", "@com_github_grpc_grpc//:grpc_cpp_plugin"],
    )
    cc_library(
        name = name,
        srcs = [outs[1]],
        hdrs = [outs[0]],
        copts = _STANDARD_COPTS + ["-w"],
        deps = [proto, "@com_github_grpc_grpc//:grpc++"],
        **kwargs
    )

def _cuda_objects_impl(ctx):
    objects = []
    contexts = [dep[CcInfo].compilation_context for dep in ctx.attr.deps]
    headers = depset(transitive = [context.headers for context in contexts])
    system = depset(transitive = [context.system_includes for context in contexts] +
                                 [context.includes for context in contexts])
    quotes = depset(["."], transitive = [context.quote_includes for context in contexts])
    defines = depset(transitive = [context.defines for context in contexts])
    for src in ctx.files.srcs:
        out = ctx.actions.declare_file(src.basename[:-len(".cu")] + ctx.attr.extension)
        args = ctx.actions.args()
        args.add_all(_NVCC_FLAGS)
        args.add_all(ctx.attr.gencode)
        args.add_all(system, before_each = "-isystem")
        args.add_all(quotes, before_each = "-I")
        args.add_all(defines, format_each = "-D%s")
        args.add_all([ctx.attr.output, src, "-o", out])
        ctx.actions.run(
            executable = ctx.file._nvcc,
            arguments = [args],
            inputs = depset([src] + ctx.files.hdrs, transitive = [headers]),
            outputs = [out],
            mnemonic = "NvccCompile",
            progress_message = "Compiling %s for GPUs" % src.short_path,
            use_default_shell_env = True,
        )
        objects.append(out)
    return [DefaultInfo(files = depset(objects), runfiles = ctx.runfiles(objects if ctx.attr.output == "-ptx" else []))]

_cuda_objects = rule(
    implementation = _cuda_objects_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".cu"]),
        "hdrs": attr.label_list(allow_files = [".h", ".inc"]),
        "deps": attr.label_list(providers = [CcInfo]),
        "gencode": attr.string_list(),
        "output": attr.string(default = "-c"),
        "extension": attr.string(default = ".cu.pic.o"),
        "_nvcc": attr.label(default = "@local_cuda//:nvcc", allow_single_file = True),
    },
)

# As for the host: a product and a sum become one FMA only where the source says so.
_NVCC_FLAGS = [
    "-O3",
    "-std=c++20",
    "-fmad=false",
    "-DDTNN_WITH_CUDA",
    "-Xcompiler=-fPIC,-Wall,-Wextra,-ffp-contract=off",
    "-Werror=all-warnings",
]

def _gencode(*architectures):
    return ["-gencode=arch=compute_%d,code=sm_%d" % (cc, cc) for cc in architectures] + [
        "-gencode=arch=compute_%d,code=compute_%d" % (architectures[-1], architectures[-1]),
    ]

# From Turing on, with PTX for what comes later; or for one kind alone.
_GENCODE = select({
    "@dtnn//tools:cuda_arch_75": _gencode(75),
    "@dtnn//tools:cuda_arch_80": _gencode(80),
    "@dtnn//tools:cuda_arch_90": _gencode(90),
    "//conditions:default": _gencode(75, 80, 90),
})

def dtnn_cuda_objects(name, srcs, hdrs = [], deps = []):
    """.cu files compiled, to stand among the srcs of a library, inside if_cuda()."""
    _cuda_objects(
        name = name,
        srcs = srcs,
        hdrs = hdrs,
        deps = deps,
        gencode = _GENCODE,
        tags = ["manual"],
    )

def dtnn_cuda_library(name, srcs, hdrs = [], deps = [], **kwargs):
    """A library of .cu files, to stand among cuda_deps: `name` has its headers, and `name`_link, which
    exists only with --config=cuda, its code."""
    dtnn_cuda_objects(name = name + "_objects", srcs = srcs, hdrs = hdrs, deps = deps)
    cc_library(name = name, hdrs = hdrs, deps = deps, **kwargs)
    cc_library(
        name = name + "_code",
        srcs = [":" + name + "_objects"],
        deps = deps + ["@dtnn//third_party:cudart"],
        tags = ["manual"],
    )
    link_only(name = name + "_link", deps = [":" + name + "_code"], tags = ["manual"], **kwargs)

def dtnn_gpu_library(name, srcs, hdrs = [], deps = [], **kwargs):
    """A library of .cu files, to stand among gpu_deps: `name` has its headers, and `name`_link its code,
    which nvcc compiles with --config=cuda, and the compiler of the host, for simulated GPUs, without.
    `name`_ptx is that code for an H100 as text, for tests that read it."""
    dtnn_cuda_objects(name = name + "_objects", srcs = srcs, hdrs = hdrs, deps = deps)
    _cuda_objects(
        name = name + "_ptx",
        srcs = srcs,
        hdrs = hdrs,
        deps = deps,
        gencode = ["-arch=compute_90"],
        output = "-ptx",
        extension = ".ptx",
        tags = ["manual"],
    )
    native.genrule(
        name = name + "_sources",
        outs = [src + ".cc" for src in srcs],
        cmd = "\n".join(["echo '#include \"%s/%s\"' > $(RULEDIR)/%s.cc" % (native.package_name(), src, src) for src in srcs]),
    )
    cc_library(name = name, hdrs = hdrs, deps = deps, **kwargs)
    cc_library(
        name = name + "_link",
        srcs = if_cuda([":" + name + "_objects"], [src + ".cc" for src in srcs]),
        copts = _copts([]),
        textual_hdrs = srcs,
        deps = deps + [":" + name] + _PCH + if_cuda(["@dtnn//third_party:cudart"]),
        **kwargs
    )
