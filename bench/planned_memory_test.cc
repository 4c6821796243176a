// What networks take of a CPU's memory, in float32 and in bfloat16, as a table that shows changes:
// bench/testdata/planned_memory.txt. Measured as plans are, before anything is allocated: one
// thread, NHWC, Adam. Its columns, MB: parameters (in training with their gradients and the
// optimizer's state; in bfloat16 with the copies of 16 bits), arena, workspace, what layers keep,
// and all of it.
//
// The kernels decide on workspaces, so there is a table per instruction set; those that this CPU
// lacks are not tested. To write the others anew after an intended change:
//
//   DTNN_PLANNED_MEMORY_FILE=$PWD/bench/testdata/planned_memory.txt
//   bazel-bin/bench/planned_memory_test

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "kernels/amx/amx.h"
#include "kernels/device/context.h"
#include "kernels/device/math_mode.h"
#include "kernels/simd/simd_target.h"
#include "models/parameters/parameter_store.h"
#include "models/plan/plan.h"
#include "models/zoo/zoo.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/optimizers/adam.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

constexpr char kFile[] = "bench/testdata/planned_memory.txt";
constexpr const char* kInstructions[] = {"avx2", "avx512", "avx512_bf16"};

struct Setting {
  const char* model;
  int64_t batch;
};
constexpr Setting kSettings[] = {
    {"simplecnn8", 64},        {"vgg16_cifar10", 64},       {"resnet20_cifar10", 64},
    {"resnet50_imagenet", 16}, {"mobilenetv1_cifar10", 64}, {"mobilenet_v2", 16},
    {"densenet_cifar10", 64},  {"googlenet_cifar10", 64},
};

struct Use {
  size_t parameters = 0;
  PlanMemory plan = {};

  double all() const { return double(parameters + plan.total()); }
};

absl::StatusOr<Use> UseOf(const Setting& setting, MathMode mode, bool training) {
  DTNN_ASSIGN_OR_RETURN(const Graph graph,
                        BuildModel(setting.model, {.format = TensorFormat::kNHWC}));
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<DeviceContext> context,
                        DeviceContext::Create(Device::Cpu()));
  DTNN_RETURN_IF_ERROR(context->SetMathMode(mode));
  const CategoricalCrossEntropy loss;
  const ParameterMemory parameters = ParameterStore::Measure(graph, DType::kFloat32);
  Use use = {.parameters = parameters.values};
  if (training) use.parameters += size_t(1 + Adam(AdamOptions()).slots()) * parameters.gradients;
  if (mode == MathMode::kBf16) use.parameters += parameters.values / 2;
  DTNN_ASSIGN_OR_RETURN(
      use.plan, Plan::Measure(graph, DType::kFloat32, *context,
                              {.batch = setting.batch, .training = training, .loss = &loss}));
  return use;
}

std::string Row(const Setting& setting, bool training, const char* mode, const Use& use) {
  const auto mb = [](size_t bytes) { return double(bytes) / 1e6; };
  return absl::StrFormat("%-19s %3d %-9s %s %7.1f %7.1f %6.1f %6.1f %7.1f", setting.model,
                         setting.batch, training ? "training" : "inference", mode,
                         mb(use.parameters), mb(use.plan.arena), mb(use.plan.workspace),
                         mb(use.plan.kept), mb(use.parameters + use.plan.total()));
}

std::string Table() {
  std::string text;
  for (const Setting& setting : kSettings) {
    for (const bool training : {true, false}) {
      const absl::StatusOr<Use> wide = UseOf(setting, MathMode::kFp32, training);
      const absl::StatusOr<Use> narrow = UseOf(setting, MathMode::kBf16, training);
      EXPECT_TRUE(wide.ok()) << setting.model << ": " << wide.status();
      EXPECT_TRUE(narrow.ok()) << setting.model << ": " << narrow.status();
      if (!wide.ok() || !narrow.ok()) return text;
      text += Row(setting, training, "fp32", *wide) + "\n" +
              Row(setting, training, "bf16", *narrow) +
              absl::StrFormat("  %.2fx\n", narrow->all() / wide->all());
    }
  }
  return text;
}

// The tables of a file, by instruction set.
std::map<std::string, std::string> ReadTables() {
  std::map<std::string, std::string> tables;
  std::ifstream file(kFile);
  std::string line, instructions;
  while (std::getline(file, line)) {
    if (absl::EndsWith(line, ":")) {
      instructions = line.substr(0, line.size() - 1);
    } else {
      tables[instructions] += line + "\n";
    }
  }
  return tables;
}

TEST(PlannedMemoryTest, IsWhatTheTableSays) {
  SetNumThreads(1);
  // The first one restricts instructions as the environment says.
  ASSERT_TRUE(DeviceContext::Create(Device::Cpu()).ok());
  std::map<std::string, std::string> tables = ReadTables();
  const char* const renewed = std::getenv("DTNN_PLANNED_MEMORY_FILE");
  std::string compared, skipped;
  for (const char* instructions : kInstructions) {
    // Where dot products are there but slow, float32 computes.
    const bool is_there = RestrictSimd(instructions).ok() &&
                          (instructions != std::string_view("avx512_bf16") || DotsAreFast());
    StrAppend(is_there ? &compared : &skipped, " ", instructions);
    if (!is_there) continue;
    const std::string table = Table();
    if (renewed == nullptr) {
      EXPECT_EQ(table, tables[instructions])
          << instructions << ": the head of this test says how to update " << kFile;
    }
    tables[instructions] = table;
  }
  ASSERT_TRUE(RestrictSimd(nullptr).ok());
  if (!skipped.empty()) std::cout << "not on this CPU:" << skipped << "\n";
  if (compared.empty()) GTEST_SKIP() << "this CPU has none of" << skipped;
  if (renewed == nullptr) return;
  std::ofstream file(renewed);
  for (const auto& [instructions, table] : tables) file << instructions << ":\n" << table;
  GTEST_SKIP() << renewed << " is written anew";
}

}  // namespace
}  // namespace dtnn
