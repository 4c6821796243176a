"""The external repositories of DTNN: packages of the operating system under upstream's names.

Every repository and target is called as upstream's own Bazel build calls it, so that a project that
embeds one of our targets may point the name at its own copy instead: a repository that exists
already is left alone.  Nothing is downloaded; a missing package stops the build with the command
that installs it.
"""

load("//third_party:cuda.bzl", "cuda_repository")
load("//third_party:offline_rules.bzl", "offline_rules_repository", "OFFLINE_RULES")
load("//third_party:system_library.bzl", "system_library_repository")

_SYSTEM_LIBRARIES = {
    "com_google_absl": struct(
        package = "libabsl-dev",
        header = "absl/status/statusor.h",
        targets = {
            "absl/functional:function_ref": "absl_function_ref",
            "absl/status:status": "absl_status",
            "absl/status:statusor": "absl_statusor",
            "absl/strings:str_format": "absl_str_format",
            "absl/strings:strings": "absl_strings",
        },
    ),
    "com_google_protobuf": struct(
        package = "libprotobuf-dev protobuf-compiler",
        header = "google/protobuf/message.h",
        targets = {":protobuf": "protobuf"},
        # Of the same package version as the library, as its generated code demands.
        programs = ["protoc"],
    ),
    "com_github_grpc_grpc": struct(
        package = "libgrpc++-dev protobuf-compiler-grpc",
        header = "grpcpp/grpcpp.h",
        targets = {":grpc++": "grpc++"},
        programs = ["grpc_cpp_plugin"],
    ),
    "com_google_googletest": struct(
        package = "libgtest-dev libgmock-dev",
        header = "gmock/gmock.h",
        targets = {":gtest": "gmock", ":gtest_main": "gmock_main"},
    ),
    "com_google_benchmark": struct(
        package = "libbenchmark-dev",
        header = "benchmark/benchmark.h",
        # No .pc file names the library with main().
        targets = {":benchmark": "benchmark", ":benchmark_main": "-lbenchmark_main -lbenchmark"},
    ),
    "com_google_highway": struct(
        package = "libhwy-dev",
        header = "hwy/highway.h",
        targets = {":hwy": "libhwy"},
    ),
    "nlohmann_json": struct(
        package = "nlohmann-json3-dev",
        header = "nlohmann/json.hpp",
        targets = {":json": ""},
    ),
    "libarchive": struct(
        package = "libarchive-dev",
        header = "archive.h",
        targets = {":archive": "libarchive"},
    ),
    "libjpeg_turbo": struct(
        package = "libjpeg-dev",
        header = "jpeglib.h",
        targets = {":jpeg": "libjpeg"},
    ),
    "libmicrohttpd": struct(
        package = "libmicrohttpd-dev",
        header = "microhttpd.h",
        targets = {":microhttpd": "libmicrohttpd"},
    ),
    "libpng": struct(
        package = "libpng-dev",
        header = "png.h",
        targets = {":png": "libpng"},
    ),
    "libzip": struct(
        package = "libzip-dev",
        header = "zip.h",
        targets = {":zip": "libzip"},
    ),
    "yaml_cpp": struct(
        package = "libyaml-cpp-dev",
        header = "yaml-cpp/yaml.h",
        targets = {":yaml": "yaml-cpp"},
    ),
    "zlib": struct(
        package = "zlib1g-dev",
        header = "zlib.h",
        targets = {":zlib": "zlib"},
    ),
    "mosquitto": struct(
        package = "libmosquitto-dev",
        header = "mosquitto.h",
        targets = {":mosquitto": "libmosquitto"},
    ),
    "openmpi": struct(
        # mpirun, for the tests, comes with the second one.
        package = "libopenmpi-dev openmpi-bin",
        header = "mpi.h",
        targets = {":mpi": "ompi-c"},
    ),
    "openssl": struct(
        package = "libssl-dev",
        header = "openssl/evp.h",
        targets = {
            ":crypto": "libcrypto",
            ":ssl": "libssl",
        },
    ),
    "pybind11": struct(
        package = "pybind11-dev python3-dev",
        header = "pybind11/pybind11.h",
        # The headers of the system's Python, which brings its library itself.
        targets = {":pybind11": "python3"},
        own_folders = True,
    ),
    "random123": struct(
        package = "librandom123-dev",
        header = "Random123/philox.h",
        targets = {":random123": ""},
    ),
    "blis": struct(
        package = "libblis-openmp-dev",
        header = "blis-openmp/blis.h",
        # It ships no .pc file, and the alternatives system may point libblis.so at another flavour.
        targets = {":blis": "-L{lib}/blis-openmp -Wl,-rpath,{lib}/blis-openmp -lblis"},
    ),
}

# By repository, the packages that a program needs to be compiled and linked with it.
DEVELOPMENT_PACKAGES = {
    name: [package for package in library.package.split(" ") if package.endswith("-dev")]
    for name, library in _SYSTEM_LIBRARIES.items()
}

# What is compiled and linked has code of these packages' headers: their notices go with it.
NOTICES = [
    "libabsl-dev",
    "libgrpc++-dev",
    "libhwy-dev",
    "libprotobuf-dev",
    "librandom123-dev",
    "libyaml-cpp-dev",
    "nlohmann-json3-dev",
    "pybind11-dev",
]

def dtnn_repositories():
    """Declares every repository that is not declared yet."""
    existing = native.existing_rules()
    for name, files in OFFLINE_RULES.items():
        if name not in existing:
            offline_rules_repository(name = name, contents = files)
    for name, library in _SYSTEM_LIBRARIES.items():
        if name not in existing:
            system_library_repository(
                name = name,
                package = library.package,
                header = library.header,
                targets = library.targets,
                programs = getattr(library, "programs", []),
                own_folders = getattr(library, "own_folders", False),
            )
    if "local_cuda" not in existing:
        cuda_repository(name = "local_cuda")
