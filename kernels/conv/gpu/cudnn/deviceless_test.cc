// cuDNN has a plan for each kind of convolution of the zoo, in all directions and both formats, on
// GPUs that are only described: the same engine and workspace as before, where the version of cuDNN
// is the one of the table (plans.txt). Runs where the toolkit is, without a GPU.
//
// Plans are made in a process of their own, with the toolkit's stub of the driver: cuDNN compiles
// some engines at run time and may crash where it should refuse.

#include "kernels/conv/gpu/cudnn/deviceless.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/conv/conv2d_spec.h"
#include "kernels/conv/direction.h"
#include "kernels/device/math_mode.h"

namespace dtnn {
namespace {

#ifdef DTNN_WITH_CUDA

constexpr char kPlansFile[] = "DTNN_DEVICELESS_TEST_PLANS_FILE";
constexpr size_t kMostNames = 8;
constexpr char kTable[] = "kernels/conv/gpu/cudnn/testdata/plans.txt";

std::vector<Conv2dSpec> Specs() {
  std::vector<Conv2dSpec> specs;
  const auto add = [&](int64_t batch, int64_t extent, int64_t channels, int64_t filters,
                       int64_t kernel, int64_t stride, bool bias_relu, int64_t groups = 1) {
    Conv2dSpec spec;
    spec.batch = batch, spec.height = spec.width = extent;
    spec.channels = channels, spec.filters = filters;
    spec.kernel = kernel, spec.stride = stride, spec.padding = kernel / 2, spec.groups = groups;
    spec.epilogue = {.bias = bias_relu, .relu = bias_relu};
    // As the layers have it: depthwise filters are (channels, kh, kw) in both formats.
    if (groups > 1) spec.filter_format = TensorFormat::kNCHW;
    specs.push_back(spec);
  };
  add(64, 28, 1, 4, 3, 1, true);    // simplecnn
  add(128, 32, 3, 64, 3, 1, true);  // vgg16_cifar10
  add(128, 16, 64, 128, 3, 1, true);
  add(128, 4, 256, 512, 3, 1, true);
  add(128, 2, 512, 512, 3, 1, true);
  add(128, 32, 3, 16, 3, 1, false);  // resnet20_cifar10
  add(128, 32, 16, 16, 3, 1, false);
  add(128, 32, 16, 32, 3, 2, false);
  add(128, 32, 16, 32, 1, 2, false);
  add(128, 8, 64, 64, 3, 1, false);
  add(32, 224, 3, 64, 7, 2, false);  // resnet50_imagenet
  add(32, 56, 64, 256, 1, 1, false);
  add(32, 28, 128, 128, 3, 1, false);
  add(32, 14, 1024, 2048, 1, 2, false);
  add(32, 7, 512, 512, 3, 1, false);
  add(32, 224, 3, 64, 11, 4, true);      // alexnet
  add(64, 16, 192, 64, 5, 1, true);      // googlenet
  add(64, 32, 12, 48, 1, 1, false);      // densenet
  add(64, 32, 32, 32, 3, 1, false, 32);  // mobilenet, depthwise
  add(64, 16, 128, 128, 3, 2, false, 128);
  add(64, 32, 32, 64, 1, 1, false);
  Conv2dSpec residual = specs[9];
  residual.epilogue = {.bias = true, .add = true, .relu = true};
  specs.push_back(residual);
  // The same with tensor cores.
  const std::vector<Conv2dSpec> exact = specs;
  for (const MathMode mode : {MathMode::kTf32, MathMode::kBf16, MathMode::kFp16}) {
    for (Conv2dSpec spec : exact) {
      spec.dtype = ActivationType(mode, spec.dtype);
      spec.tf32 = mode == MathMode::kTf32;
      specs.push_back(spec);
    }
  }
  Conv2dSpec doubles = specs[9];
  doubles.dtype = DType::kFloat64;
  specs.push_back(doubles);
  return specs;
}

// Lines of "device spec direction: engine 7, 1024 bytes", or of the reason why there is none.
std::string DescribePlans() {
  std::ostringstream text;
  for (const auto& [name, json] : {std::pair("h100", cudnn::kH100), {"a100", cudnn::kA100}}) {
    const auto device = cudnn::DescribeDevice(json);
    if (!device.ok()) return std::string(device.status().message());
    if (text.str().empty()) text << "cudnn " << (*device)->version() << "\n";
    const auto describe = [&](const Conv2dSpec& spec, conv::Direction direction, bool accumulate,
                              int64_t alignment = 16) {
      const auto plan = (*device)->PlanOf(spec, direction, accumulate, alignment);
      text << name << " " << spec.ToString() << " " << conv::Name(direction)
           << (accumulate ? " added" : "");
      if (alignment < 16) text << " at " << alignment << " bytes";
      text << ": ";
      if (plan.ok()) {
        text << "engine " << plan->engine << ", " << plan->workspace_bytes << " bytes\n";
      } else {
        text << "none\n";
        text << "# " << plan.status().message() << "\n";
      }
    };
    for (Conv2dSpec spec : Specs()) {
      for (const TensorFormat format : {TensorFormat::kNCHW, TensorFormat::kNHWC}) {
        spec.format = format;
        for (const conv::Direction direction : conv::kDirections) {
          for (const bool accumulate : {false, true}) {
            if (accumulate && direction == conv::Direction::kForward) continue;
            // Converted to float32, and added then.
            if (accumulate && direction == conv::Direction::kBackwardFilter && IsHalf(spec.dtype)) {
              continue;
            }
            describe(spec, direction, accumulate);
          }
        }
      }
      spec.format = TensorFormat::kNHWC;
      // Parameters lie side by side, those of a layer with few filters anywhere.
      for (const bool bias : {false, true}) {
        if (spec.channels != 12 || !IsHalf(spec.dtype)) continue;
        Conv2dSpec anywhere = spec;
        anywhere.epilogue.bias = bias;
        for (const conv::Direction direction : conv::kDirections) {
          describe(anywhere, direction, /*accumulate=*/false, /*alignment=*/2);
        }
      }
      // With a normalisation folded in.
      if (spec.epilogue.bias) continue;
      spec.epilogue = {.bias = true, .relu = true};
      describe(spec, conv::Direction::kForward, /*accumulate=*/false);
    }
  }
  return text.str();
}

// What files of plans rely on: a text leads back to its plan, and one that is none is refused. How
// many came back.
int CheckTexts(const cudnn::DescribedDevice& device, const Conv2dSpec& spec,
               conv::Direction direction, const std::vector<std::string>& names, const auto& say) {
  int read = 0;
  for (const std::string& name : names) {
    const auto named = device.PlanNamed(spec, direction, name);
    // What only a driver loads has no text.
    if (!named.ok() || named->only_compiled) continue;
    const auto text = device.TextOf(spec, direction, name);
    if (!text.ok()) {
      say(name + " has no text: " + std::string(text.status().message()));
      continue;
    }
    const auto restored = device.Restore(spec, direction, *text);
    if (!restored.ok()) {
      say(name + " does not come back: " + std::string(restored.status().message()));
      continue;
    }
    ++read;
    if (restored->name != name) say(name + " comes back as " + restored->name);
    if (restored->engine != named->engine || restored->workspace_bytes != named->workspace_bytes) {
      say(name + " comes back with another engine or workspace");
    }
    for (const std::string& wrong :
         {std::string(), std::string("{}"), text->substr(0, text->size() / 2)}) {
      if (device.Restore(spec, direction, wrong).ok()) say("a plan of half a text");
    }
  }
  // An engine that rounds float32 in another's place.
  if (spec.dtype != DType::kFloat32 || spec.tf32) return read;
  Conv2dSpec rounded = spec;
  rounded.tf32 = true;
  const auto other = device.NamesOf(rounded, direction, 1);
  if (!other.ok() || device.PlanNamed(spec, direction, other->front()).ok()) return read;
  const auto text = device.TextOf(rounded, direction, other->front());
  if (text.ok() && device.Restore(spec, direction, *text).ok()) say("a plan in TF32 is taken");
  return read;
}

// What a tuner relies on: names tell plans apart, and lead back to them. Lines of what is wrong.
std::string CheckNames() {
  std::ostringstream wrong;
  const auto device = cudnn::DescribeDevice(cudnn::kH100);
  if (!device.ok()) return std::string(device.status().message());
  const std::vector<Conv2dSpec> specs = Specs();
  size_t several = 0;
  int came_back = 0;
  for (const size_t which : {size_t{2}, size_t{12}, specs.size() - 2}) {
    const Conv2dSpec& spec = specs[which];
    for (const conv::Direction direction : conv::kDirections) {
      const auto say = [&](const auto& what) {
        wrong << spec.ToString() << " " << conv::Name(direction) << ": " << what << "\n";
      };
      const auto names = (*device)->NamesOf(spec, direction, kMostNames);
      const auto first = (*device)->PlanOf(spec, direction, /*accumulate=*/false);
      if (!names.ok() || !first.ok()) {
        say(names.status().message());
        continue;
      }
      several += names->size() > 1;
      if (names->front() != first->name) say("the first is not the one that is chosen");
      if (std::set(names->begin(), names->end()).size() != names->size()) say("a name comes twice");
      for (const std::string& name : *names) {
        const auto named = (*device)->PlanNamed(spec, direction, name);
        if (!named.ok() || named->name != name) say("there is no plan of the name " + name);
      }
      came_back += CheckTexts(**device, spec, direction, *names, say);
      const auto unknown = (*device)->PlanNamed(spec, direction, "engine4711");
      if (unknown.status().code() != absl::StatusCode::kNotFound) say("a plan of no engine");
    }
  }
  if (came_back == 0) wrong << "no plan comes back from a text\n";
  if (several == 0) wrong << "there is never more than one\n";
  return wrong.str();
}

// By what stands before the colon; without comments.
std::map<std::string, std::string> Parse(std::istream& text) {
  std::map<std::string, std::string> lines;
  for (std::string line; std::getline(text, line);) {
    const size_t colon = line.find(": ");
    if (line.empty() || line[0] == '#' || colon == line.npos) continue;
    lines[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return lines;
}

// What cuDNN has no plan for, and this project's own kernels compute: an addend in NCHW.
bool MayHaveNone(std::string_view call) {
  return call.find("_nchw_") != call.npos && call.ends_with("_bias_add_relu forward");
}

std::string FirstLine(std::istream& text) {
  std::string line;
  std::getline(text, line);
  return line;
}

TEST(DevicelessTest, EveryKindOfConvolutionHasItsPlan) {
  if (const char* const file = std::getenv(kPlansFile); file != nullptr) {
    std::ofstream(file) << DescribePlans();
    ASSERT_EQ(CheckNames(), "");
    return;
  }
  const char* const home = std::getenv("CUDA_HOME");
  const std::string lib = std::string(home == nullptr ? "/usr/local/cuda" : home) + "/lib64";
  const std::string stub = lib + "/stubs/libcuda.so";
  if (access(stub.c_str(), R_OK) != 0) GTEST_SKIP() << "there is no " << stub;
  char self[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
  const std::string file = ::testing::TempDir() + "/plans.txt";
  const std::string command = std::string("TEST_PREMATURE_EXIT_FILE= ") + kPlansFile + "='" + file +
                              "' LD_LIBRARY_PATH='" + lib + "' LD_PRELOAD='" + stub + "' '" + self +
                              "' --gtest_output=";
  ASSERT_EQ(std::system(command.c_str()), 0);

  std::ifstream actual_file(file), table_file(kTable);
  ASSERT_TRUE(actual_file.good() && table_file.good());
  const bool same_version = FirstLine(actual_file) == FirstLine(table_file);
  const auto actual = Parse(actual_file), expected = Parse(table_file);
  EXPECT_EQ(actual.size(), expected.size());
  for (const auto& [call, plan] : expected) {
    const auto found = actual.find(call);
    ASSERT_NE(found, actual.end()) << call;
    EXPECT_EQ(plan == "none", MayHaveNone(call)) << kTable << ": " << call;
    if (!MayHaveNone(call)) {
      EXPECT_NE(found->second, "none") << call;
    }
    // Another version may choose others.
    if (same_version) {
      EXPECT_EQ(found->second, plan) << call;
    }
  }
}

#else

TEST(DevicelessTest, EveryKindOfConvolutionHasItsPlan) {
  GTEST_SKIP() << "plans are made by cuDNN: build with --config=cuda";
}

#endif

}  // namespace
}  // namespace dtnn
