#include "tools/layering.h"

#include <cstdlib>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::layering {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// The runfile is a link to the real file, so this finds every source, also the newest.
fs::path Root() {
  return fs::canonical(fs::path(std::getenv("TEST_SRCDIR")) / "dtnn" / "WORKSPACE").parent_path();
}

TEST(LayeringTest, ThisRepositoryKeepsItsRules) {
  int files_read = 0;
  EXPECT_THAT(CheckTree(Root(), &files_read), IsEmpty());
  EXPECT_GT(files_read, 40) << "too few sources below " << Root();
}

TEST(LayeringTest, IncludesMayPointDownwards) {
  EXPECT_THAT(CheckSource("models/plan/plan.cc",
                          "#include \"models/plan/plan.h\"\n"
                          "#include <vector>\n"
                          "#include \"absl/status/status.h\"\n"
                          "#include \"comm/communicator.h\"\n"
                          "#include \"tensor/tensor.h\"\n"),
              IsEmpty());
}

TEST(LayeringTest, AnIncludeUpwardsIsNamedWithFileAndLine) {
  EXPECT_THAT(CheckSource("kernels/gemm/gemm.cc", "// c\n#include \"layers/base/layer.h\"\n"),
              ElementsAre(AllOf(StartsWith("kernels/gemm/gemm.cc:2: includes layers/base/layer.h"),
                                HasSubstr("upwards; kernels may use tensor"))));
  EXPECT_THAT(CheckSource("tensor/files/npy.h", "  #  include <kernels/operands/pair.h>"),
              ElementsAre(HasSubstr("tensor may use no other folder")));
  EXPECT_THAT(CheckSource("data/x.cu", "#include \"tensor/a.h\"\n\n#include \"apps/b.h\"\n"),
              ElementsAre(StartsWith("data/x.cu:3:")));
}

TEST(LayeringTest, AnIncludeBetweenSiblingsIsNamed) {
  EXPECT_THAT(CheckSource("optim/optimizers/sgd.h", "#include \"data/dataset.h\"\n"),
              ElementsAre(AllOf(StartsWith("optim/optimizers/sgd.h:1:"), HasSubstr("sideways"))));
  EXPECT_THAT(CheckSource("optim/sgd_test.cc", "#include \"data/dataset.h\"\n").size(), 1);
}

TEST(LayeringTest, RoomsOfAFolderHaveAnOrder) {
  const char kTrainer[] = "#include \"models/training/trainer.h\"\n";
  EXPECT_THAT(CheckSource("models/plan/plan.h", kTrainer),
              ElementsAre(AllOf(StartsWith("models/plan/plan.h:1:"), HasSubstr("upwards"),
                                HasSubstr("the rooms of models"))));
  EXPECT_THAT(CheckSource("models/callbacks/history.h", kTrainer), IsEmpty());
  EXPECT_THAT(CheckSource("models/plan/plan_test.cc", kTrainer), IsEmpty());
  EXPECT_THAT(CheckBuildFile("models/plan/BUILD.bazel",
                             "dtnn_cc_library(deps = [\"//models/training:trainer\"])\n"),
              ElementsAre(HasSubstr("upwards")));
  // Rooms on one floor do not use each other.
  EXPECT_THAT(CheckSource("comm/ranks/exchange/a.h", "#include \"comm/ranks/mpi/b.h\"\n"),
              ElementsAre(HasSubstr("sideways")));
  // A folder of its own is a room too, and a part of a room belongs to it.
  EXPECT_EQ(CheckSource("data/dataset.h", "#include \"data/datasets/mnist.h\"\n").size(), 1);
  EXPECT_THAT(CheckSource("comm/ranks/job/ranks.h", "#include \"comm/ranks/mpi/control/a.h\"\n"),
              IsEmpty());
  // Programs are not named: none uses another.
  EXPECT_THAT(CheckSource("apps/predict/run.h", "#include \"apps/inspect/run.h\"\n"),
              ElementsAre(HasSubstr("sideways")));
  EXPECT_THAT(CheckBuildFile("apps/BUILD.bazel", "alias(actual = \"//apps/predict\")\n"),
              IsEmpty());
  // Folders without an order.
  EXPECT_THAT(CheckSource("kernels/conv/a.h", "#include \"kernels/gemm/b.h\"\n"), IsEmpty());
  EXPECT_EQ(CheckSource("apps/printing/a.h", "#include \"apps/launcher/b.h\"\n").size(), 1);
}

TEST(LayeringTest, BenchAndToolsServeTestsOnly) {
  for (const char* line :
       {"#include \"bench/model_speed.h\"", "#include \"tools/testing/tensors.h\""}) {
    EXPECT_EQ(CheckSource("apps/launcher/benchmark.cc", line).size(), 1) << line;
    EXPECT_THAT(CheckSource("kernels/add/add_test.cc", line), IsEmpty()) << line;
    EXPECT_THAT(CheckSource("kernels/add/add_benchmark.cc", line), IsEmpty()) << line;
    EXPECT_THAT(CheckSource("layers/testing/gradient_check.cc", line), IsEmpty()) << line;
  }
  EXPECT_THAT(CheckSource("bench/train.cc", "#include \"apps/a.h\"\n#include \"tensor/a.h\""),
              IsEmpty());
}

TEST(LayeringTest, RelativeIncludesAreRefused) {
  EXPECT_EQ(CheckSource("kernels/add/add.cc", "#include \"../../layers/base/layer.h\"").size(), 1);
}

TEST(LayeringTest, BuildEdgesAreReadLikeIncludes) {
  const char kBuild[] =
      "load(\"//tools:dtnn.bzl\", \"dtnn_cc_library\")\n"
      "package(default_visibility = [\"//visibility:public\"])\n"
      "dtnn_cc_library(\n"
      "    name = \"sgd\",\n"
      "    visibility = [\"//models:__subpackages__\"],\n"
      "    # \"//models\" is only talked about\n"
      "    deps = [\"//tensor\", \":loss\", \"@com_google_absl//absl/status\"] + if_cuda([\n"
      "        \"@dtnn//data/datasets:mnist\",\n"
      "        \"//kernels/update\",\n"
      "    ]),\n"
      ")\n";
  EXPECT_THAT(CheckBuildFile("optim/BUILD.bazel", kBuild),
              ElementsAre(StartsWith("optim/BUILD.bazel:8: depends on //data/datasets: sideways")));
  EXPECT_EQ(CheckBuildFile("kernels/update/BUILD.bazel", "x(deps = [\"//layers\", \"//models:a\"])")
                .size(),
            2);
}

TEST(LayeringTest, OnlyTestRulesMayDependOnTools) {
  const std::string deps = "    deps = [\"//tools/testing:tensors\"],\n)\n";
  EXPECT_EQ(CheckBuildFile("tensor/BUILD.bazel", "dtnn_cc_library(\n" + deps).size(), 1);
  EXPECT_THAT(CheckBuildFile("tensor/BUILD.bazel", "dtnn_cc_test(\n" + deps), IsEmpty());
  EXPECT_EQ(
      CheckBuildFile("tensor/BUILD.bazel", "dtnn_cc_test(\n" + deps + "\ndtnn_cc_library(\n" + deps)
          .size(),
      1);
}

TEST(LayeringTest, LibrariesNameNoFlags) {
  EXPECT_THAT(
      CheckFlags("data/a.cc",
                 "// as --dataset=a says\n"
                 "f(\"give --dataset=b\");  // \"--c\"\n"
                 "g('\"', \"\\\"--resume\\\"\", \"--config=cuda\", \"a--b\", \"-- b ---c\");\n"),
      ElementsAre(StartsWith("data/a.cc:2: names --dataset: "),
                  StartsWith("data/a.cc:3: names --resume"), StartsWith("data/a.cc:3: names --b")));
  EXPECT_THAT(CheckFlags("apps/a.cc", "f(\"--dataset\");"), IsEmpty());
  EXPECT_THAT(CheckFlags("data/a_test.cc", "f(\"--dataset\");"), IsEmpty());
}

TEST(LayeringTest, NothingAboveKernelsAsksForTheDevice) {
  EXPECT_THAT(CheckDevices("models/plan/a.cc",
                           "// is_cpu() in a comment\n"
                           "if (context.device().is_cpu()) return;  // Device::Cuda(0)\n"
                           "#include \"tensor/gpu/driver.h\"\n"
                           "Tensor::Allocate(Device::Cpu(), dtype, shape);\n"
                           "if (device == Device::Cpu()) {}\n"),
              ElementsAre(StartsWith("models/plan/a.cc:2: says is_cpu(): "),
                          StartsWith("models/plan/a.cc:3: says \"tensor/gpu/: "),
                          StartsWith("models/plan/a.cc:5: says == Device::Cpu(): ")));
  const char kMakes[] = "return DeviceContext::Create(Device::Cuda(0));\n";
  EXPECT_EQ(CheckDevices("apps/launcher/a.cc", kMakes).size(), 1);
  EXPECT_EQ(CheckDevices("comm/a.h", "switch (DeviceType::kCuda) {}\n").size(), 1);
  EXPECT_THAT(CheckDevices("models/run/parts/make_device.cc", kMakes), IsEmpty());
  EXPECT_THAT(CheckDevices("models/plan/plan_gpu_test.cc", kMakes), IsEmpty());
  EXPECT_THAT(CheckDevices("kernels/device/context.cc", kMakes), IsEmpty());
}

// Names in backquotes, row by row, against those that the test enforces.
TEST(LayeringTest, TheDocumentedRoomsAreThese) {
  std::ifstream file(Root() / "docs" / "architecture.md");
  std::vector<std::string> documented;
  bool in_table = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "| folder | rooms, lowest first |") in_table = true;
    if (in_table && line.empty()) break;
    if (!in_table || line.find('`') == line.npos) continue;
    documented.push_back(line.substr(2, line.find(' ', 2) - 2) + ":");
    for (size_t begin = line.find('`'); begin != line.npos;) {
      const size_t end = line.find('`', begin + 1);
      documented.back() += " " + line.substr(begin + 1, end - begin - 1);
      begin = line.find('`', end + 1);
    }
  }
  EXPECT_THAT(documented, ::testing::ElementsAreArray(RoomNames()));
}

TEST(LayeringTest, RulesComeFromOneFile) {
  EXPECT_THAT(CheckRules("apps/BUILD.bazel",
                         "load(\"//tools:dtnn.bzl\", \"dtnn_sh_test\")\n"
                         "# sh_test( in a comment\n"
                         "alias(name = \"a\", actual = \"b\")\n"
                         "dtnn_sh_test(\n"
                         "    name = \"cc_test(\",\n"
                         ")\n"),
              IsEmpty());
  EXPECT_THAT(CheckRules("apps/BUILD.bazel",
                         "load(\"@rules_cc//cc:defs.bzl\", \"cc_test\")\n"
                         "[\n"
                         "    sh_test(\n"
                         "    )\n"
                         "]\n"
                         "cc_library(name = \"a\")\n"
                         "native.alias(name = \"a\")\n"),
              ElementsAre(HasSubstr("apps/BUILD.bazel:1: loads @rules_cc//cc:defs.bzl"),
                          StartsWith("apps/BUILD.bazel:3: uses sh_test: "),
                          StartsWith("apps/BUILD.bazel:6: uses cc_library: "),
                          StartsWith("apps/BUILD.bazel:7: uses native.alias: ")));
  EXPECT_THAT(CheckRules("examples/embed/BUILD.bazel", "cc_binary(name = \"a\")\n"), IsEmpty());
  EXPECT_EQ(CheckRules("examples/library/BUILD.bazel", "cc_binary(name = \"a\")\n").size(), 1);
}

TEST(LayeringTest, NoTwoFilesDefineOneClass) {
  const std::string carrier = "namespace dtnn {\nclass Carrier {};\n}\n";
  EXPECT_THAT(CheckClasses({{"comm/ranks/mpi/carrier.h", carrier},
                            {"comm/transport/relay/carrier.h", carrier}}),
              ElementsAre(StartsWith("comm/transport/relay/carrier.h:2: defines dtnn::Carrier, as "
                                     "comm/ranks/mpi/carrier.h:2: ")));
  // A test is linked with a library, not with another test.
  EXPECT_THAT(CheckClasses({{"comm/a_test.cc", carrier}, {"comm/b.h", carrier}}),
              ElementsAre(StartsWith("comm/a_test.cc:2: ")));
  EXPECT_THAT(CheckClasses({{"comm/a_test.cc", carrier}, {"comm/b_test.cc", carrier}}), IsEmpty());
  EXPECT_THAT(CheckClasses({{"comm/a.cc", "namespace dtnn { namespace { class Carrier {}; } }"},
                            {"comm/b.h", carrier + "namespace other {" + carrier + "}"}}),
              IsEmpty());
}

TEST(LayeringTest, ATreeIsWalkedAndUnknownFoldersAreNamed) {
  const fs::path root = fs::path(::testing::TempDir()) / "layering_tree";
  fs::remove_all(root);
  const auto write = [&](const char* path, const char* text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  };
  write("tensor/deep/er/a.h", "#include \"models/graph/graph.h\"\n");
  write("kernels/BUILD.bazel", "dtnn_cc_library(deps = [\"//layers:fc\"])\n");
  write("utils/a.cc", "");
  write("docs/README.md", "#include \"apps/a.h\"\n");
  write(".git/a.cc", "");
  write("optim/a.cc", "device.is_cpu();\nclass A {};\n");
  write("data/a.h", "class A {};\n");
  write("BUILD.bazel", "sh_test(name = \"a\")\n");
  write("examples/a/b/BUILD.bazel", "cc_binary(name = \"a\")\n");
  write("third_party/BUILD.bazel", "cc_library(name = \"a\")\n");
  for (int i = 0; i <= 40; ++i) {
    write(("comm/" + std::to_string(i) + ".cc").c_str(), "");
    write(("models/zoo/" + std::to_string(i) + ".cc").c_str(), "");
  }
  int files_read = 0;
  EXPECT_THAT(CheckTree(root, &files_read),
              ElementsAre(StartsWith("BUILD.bazel:1: uses sh_test"),
                          StartsWith("comm: has 41 sources, more than 40"),
                          StartsWith("examples/a/b/BUILD.bazel:1: uses cc_binary"),
                          StartsWith("kernels/BUILD.bazel:1:"), StartsWith("optim/a.cc:1: says"),
                          StartsWith("optim/a.cc:2: defines A, as data/a.h:1: "),
                          StartsWith("tensor/deep/er/a.h:1:"),
                          StartsWith("utils/a.cc: no floor of the house")));
  EXPECT_EQ(files_read, 4 + 2 * 41);
}

}  // namespace
}  // namespace dtnn::layering
