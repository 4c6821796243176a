// bazel run //bench:convolutions -- [--shapes=FILE] [--random=N] [--names=PREFIX]
// [--directions=...]
//                                   [--variants=auto,...] [--format=NHWC] [--seconds=0.1]
//
// Times convolutions by themselves, and prints one JSON object per line: name, direction, variant,
// the median and the smallest time of a call, GFLOP/s and the machine's peaks: of FMAs of float32
// and, where there are AMX and AVX512-BF16, of bfloat16 in tiles and in pairs. A variant computes
// float32, or, as "auto/bfloat16", images and filters of that type. Each variant's samples are
// spread over the whole measurement of a shape, in turns, so that a slow moment meets all of them.
// bench/compare_convolutions.py compares the lines with another library's.
//
// A shape is a line of 14 words, or 16 with a dilation, '#' begins a comment:
//   batch channels height width filters kh kw sh sw ph pw groups repeat name [dh dw]
// --random=N makes N plausible shapes of its own, the same for the same --seed; --list prints the
// shapes instead of timing them.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "apps/flags/tool_flags.h"
#include "apps/flags/value.h"
#include "apps/help/tool_help.h"
#include "apps/program/run_program.h"
#include "bench/random_convolutions.h"
#include "kernels/conv/conv2d.h"
#include "kernels/peak/peak.h"
#include "kernels/simd/simd_target.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

constexpr ProgramText kProgramText = {.name = "convolutions",
                                      .does = "times convolutions by themselves",
                                      .text =
                                          "convolutions --shapes=FILE | --random=N\n\nTimes "
                                          "convolutions by themselves, as JSON lines."};

using conv::Direction;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string shapes, names, directions = "fwd,bwd_data,bwd_filter", variants = "auto";
  std::string format = "NHWC";
  int64_t random = 0, seed = 1;
  double seconds = 0.1;
  bool list = false;
};

absl::StatusOr<std::vector<NamedConvolution>> ReadShapes(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  std::vector<NamedConvolution> shapes;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line.resize(std::min(line.size(), line.find('#')));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::istringstream words(line);
    NamedConvolution shape;
    Conv2dSpec& s = shape.spec;
    words >> s.batch >> s.channels >> s.height >> s.width >> s.filters >> s.kernel.vertical >>
        s.kernel.horizontal >> s.stride.vertical >> s.stride.horizontal >> s.padding.vertical >>
        s.padding.horizontal >> s.groups >> shape.repeat >> shape.name;
    const bool dilated = words && !(words >> std::ws).eof();
    if (dilated) words >> s.dilation.vertical >> s.dilation.horizontal;
    if (shape.name.empty() || (dilated && !words)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", number,
                       ": expected 13 numbers and a name: batch channels height "
                       "width filters kh kw sh sw ph pw groups repeat name, and where there is a "
                       "dilation two more numbers, dh dw"));
    }
    if (const absl::Status valid = s.Validate(); !valid.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", number, ": ", std::string(valid.message())));
    }
    shapes.push_back(shape);
  }
  return shapes;
}

std::string ShapeLine(const NamedConvolution& shape) {
  const Conv2dSpec& s = shape.spec;
  return absl::StrCat(s.batch, " ", s.channels, " ", s.height, " ", s.width, " ", s.filters, " ",
                      s.kernel.vertical, " ", s.kernel.horizontal, " ", s.stride.vertical, " ",
                      s.stride.horizontal, " ", s.padding.vertical, " ", s.padding.horizontal, " ",
                      s.groups, " ", shape.repeat, " ", shape.name,
                      s.dilation == Pair(1)
                          ? ""
                          : absl::StrCat(" ", s.dilation.vertical, " ", s.dilation.horizontal));
}

// A variant as --variants names it: "gemm", "auto/bfloat16".
struct VariantName {
  std::string_view name;
  DType dtype = DType::kFloat32;

  explicit VariantName(std::string_view word) : name(word.substr(0, word.find('/'))) {
    if (word != name) dtype = DType::kBfloat16;
  }
};

// One variant of one direction of a shape, with operands of its own.
class Candidate {
 public:
  static absl::StatusOr<Candidate> Create(DeviceContext& context, Conv2dSpec spec,
                                          std::string_view variant, Direction direction) {
    Candidate made;
    if (direction == Direction::kForward) spec.epilogue.bias = true;
    Conv2dVariants variants;
    variants[direction] = variant;
    DTNN_ASSIGN_OR_RETURN(
        made.conv_, CreateConv2d(context, spec, variants,
                                 {.directions = conv::Only(direction), .keeps_filter = true}));
    DTNN_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> kept,
                          Buffer::Allocate(Device::Cpu(), made.conv_->kept_bytes()));
    DTNN_RETURN_IF_ERROR(made.conv_->Keep(std::move(kept)));
    made.direction_ = direction;
    made.variant_ = made.conv_->variant(direction);
    made.dtype_ = spec.dtype;
    made.x_ = *RandomTensor(spec.dtype, spec.InputShape(), 1);
    made.y_ = *RandomTensor(spec.dtype, spec.OutputShape(), 2);
    made.w_ = *RandomTensor(spec.dtype, spec.FilterShape(), 3);
    made.dw_ = *RandomTensor(DType::kFloat32, spec.FilterShape(), 3);
    made.bias_ = *RandomTensor(DType::kFloat32, {spec.filters}, 4);
    DTNN_ASSIGN_OR_RETURN(
        made.workspace_,
        Buffer::Allocate(Device::Cpu(), std::max<size_t>(1, made.conv_->workspace_bytes())));
    return made;
  }

  std::string_view variant() const { return variant_; }
  DType dtype() const { return dtype_; }

  // The filter keeps its version: what is derived from it is derived once.
  absl::Status Run() {
    const Workspace workspace(workspace_->data(), workspace_->size());
    switch (direction_) {
      case Direction::kForward:
        return conv_->Forward(x_, {w_, 1}, y_, {.bias = bias_}, workspace);
      case Direction::kBackwardData:
        return conv_->BackwardData(y_, {w_, 1}, x_, false, workspace);
      case Direction::kBackwardFilter:
        break;
    }
    return conv_->BackwardFilter(x_, y_, dw_, Tensor(), false, workspace);
  }

  // Appends the seconds of a call, over as many as take a millisecond.
  absl::Status Sample() {
    const auto start = Clock::now();
    for (int64_t i = 0; i < calls_; ++i) DTNN_RETURN_IF_ERROR(Run());
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (seconds < 1e-3 && calls_ < (1 << 20)) {
      calls_ *= 2;
      return Sample();
    }
    seconds_.push_back(seconds / double(calls_));
    return absl::OkStatus();
  }
  // Sorted.
  std::vector<double> seconds() const {
    std::vector<double> sorted = seconds_;
    std::ranges::sort(sorted);
    return sorted;
  }

 private:
  static absl::StatusOr<Tensor> RandomTensor(DType dtype, const Shape& shape, unsigned seed) {
    DTNN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Zeros(dtype, shape));
    std::minstd_rand random(seed);
    const auto fill = [&](auto* data) {
      for (int64_t i = 0; i < tensor.num_elements(); ++i) {
        data[i] = std::remove_pointer_t<decltype(data)>(float(random() % 2001) / 1000 - 1);
      }
    };
    if (dtype == DType::kBfloat16) {
      fill(tensor.data<Bfloat16>());
    } else {
      fill(tensor.data<float>());
    }
    return tensor;
  }

  Direction direction_ = Direction::kForward;
  std::string_view variant_;
  std::unique_ptr<Conv2d> conv_;
  DType dtype_ = DType::kFloat32;
  Tensor x_, y_, w_, dw_, bias_;
  std::shared_ptr<Buffer> workspace_;
  int64_t calls_ = 1;
  std::vector<double> seconds_;
};

absl::Status Measure(DeviceContext& context, const Options& options, const NamedConvolution& shape,
                     Direction direction, std::string_view direction_name) {
  Conv2dSpec spec = shape.spec;
  spec.format = *ParseTensorFormat(options.format);
  std::vector<Candidate> candidates;
  for (const std::string_view word : SplitList(options.variants)) {
    const auto [variant, dtype] = VariantName(word);
    spec.dtype = dtype;
    if (variant != "auto" && !Conv2dRefusal(variant, spec, direction).empty()) continue;
    DTNN_ASSIGN_OR_RETURN(Candidate candidate,
                          Candidate::Create(context, spec, variant, direction));
    candidates.push_back(std::move(candidate));
  }
  const double before = MeasureFmaPeakGflops(NumThreads(), DType::kFloat32);
  const double tiles_before = MeasureTilePeakGflops(NumThreads());
  const double dots_before = MeasureDotPeakGflops(NumThreads());
  for (Candidate& candidate : candidates) DTNN_RETURN_IF_ERROR(candidate.Run());
  const auto start = Clock::now();
  for (int round = 0; round < 5 || std::chrono::duration<double>(Clock::now() - start).count() <
                                       options.seconds * double(candidates.size());
       ++round) {
    for (Candidate& candidate : candidates) DTNN_RETURN_IF_ERROR(candidate.Sample());
  }
  const double peak = std::min(before, MeasureFmaPeakGflops(NumThreads(), DType::kFloat32));
  const double tile_peak = std::min(tiles_before, MeasureTilePeakGflops(NumThreads()));
  const double dot_peak = std::min(dots_before, MeasureDotPeakGflops(NumThreads()));
  for (const Candidate& candidate : candidates) {
    const std::vector<double> seconds = candidate.seconds();
    const double median = seconds[seconds.size() / 2];
    std::printf(
        "{\"library\":\"DTNN\",\"simd\":\"%s\",\"threads\":%d,\"name\":\"%s\",\"repeat\":%d,"
        "\"direction\":\"%s\",\"layout\":\"%s\",\"variant\":\"%s\",\"dtype\":\"%s\",\"ms\":%.5f,"
        "\"ms_min\":%.5f,\"gflops\":%.5g,\"fma_peak\":%.1f,\"tile_peak\":%.1f,"
        "\"dot_peak\":%.1f}\n",
        SimdTarget().c_str(), NumThreads(), shape.name.c_str(), int(shape.repeat),
        std::string(direction_name).c_str(), options.format.c_str(),
        std::string(candidate.variant()).c_str(), std::string(Name(candidate.dtype())).c_str(),
        median * 1e3, seconds[0] * 1e3, spec.Flops() / median * 1e-9, peak, tile_peak, dot_peak);
  }
  std::fflush(stdout);
  return absl::OkStatus();
}

absl::Status Run(const std::vector<std::string>& arguments) {
  using enum OptionType;
  Options options;
  const OptionSpec flags[] = {
      {.name = "shapes",
       .type = kPath,
       .help = "file of shapes, one per line",
       .field = &options.shapes},
      {.name = "random",
       .type = kInt,
       .help = "how many plausible shapes to make up",
       .unit = "shapes",
       .range = {.low = 0, .high = 1e4},
       .field = &options.random},
      {.name = "seed",
       .type = kInt,
       .help = "seed of --random",
       .range = {.low = 0, .high = 1e9},
       .field = &options.seed},
      {.name = "names",
       .type = kText,
       .help = "measure only shapes whose names begin so",
       .field = &options.names},
      {.name = "directions",
       .type = kText,
       .help = "of fwd, bwd_data and bwd_filter, separated by commas",
       .field = &options.directions},
      {.name = "variants",
       .type = kText,
       .help = "variants to time where they compute a shape, or auto, separated by commas; with "
               "/bfloat16 for images of that type",
       .field = &options.variants},
      {.name = "format",
       .type = kWord,
       .help = "order of image axes",
       .words = "NHWC,NCHW",
       .field = &options.format},
      {.name = "seconds",
       .type = kReal,
       .help = "how long each variant of a shape is measured",
       .unit = "seconds",
       .range = {.low = 0, .high = 1e4},
       .field = &options.seconds},
      {.name = "list",
       .type = kBool,
       .help = "print the shapes instead of timing them",
       .field = &options.list},
  };
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, flags));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kProgramText, flags, request.help_topic);
  }
  if (request.action != Action::kRun) return absl::OkStatus();
  std::vector<NamedConvolution> shapes;
  if (!options.shapes.empty()) {
    DTNN_ASSIGN_OR_RETURN(shapes, ReadShapes(options.shapes));
  }
  for (const NamedConvolution& shape : RandomConvolutions(options.random, uint64_t(options.seed))) {
    shapes.push_back(shape);
  }
  if (shapes.empty()) {
    return absl::InvalidArgumentError(
        "no shapes to time; name a file with --shapes, or --random=N");
  }
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<DeviceContext> context,
                        DeviceContext::Create(Device::Cpu()));
  constexpr std::pair<std::string_view, Direction> kNames[] = {
      {"fwd", Direction::kForward},
      {"bwd_data", Direction::kBackwardData},
      {"bwd_filter", Direction::kBackwardFilter}};
  const std::vector<std::string_view> variants = Conv2dVariantNames();
  for (const std::string_view word : SplitList(options.variants)) {
    const std::string_view name = VariantName(word).name;
    const bool typed = word == name || word.substr(name.size()) == "/bfloat16";
    if (typed && (name == "auto" || std::ranges::count(variants, name) > 0)) continue;
    std::string known = "auto";
    for (const std::string_view variant : variants) (known += ", ") += variant;
    return absl::InvalidArgumentError(absl::StrCat("--variants: \"", std::string(word),
                                                   "\" is not one of ", known,
                                                   ", nor one of them with /bfloat16"));
  }
  for (const NamedConvolution& shape : shapes) {
    if (!shape.name.starts_with(options.names)) continue;
    if (options.list) {
      std::printf("%s\n", ShapeLine(shape).c_str());
      continue;
    }
    for (const std::string_view name : SplitList(options.directions)) {
      const auto* known =
          std::ranges::find(kNames, name, [](const auto& each) { return each.first; });
      if (known == std::end(kNames)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "--directions: \"", std::string(name), "\" is not one of fwd, bwd_data, bwd_filter"));
      }
      DTNN_RETURN_IF_ERROR(Measure(*context, options, shape, known->second, name));
    }
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram("convolutions", argc, argv, "fewer --names need less", dtnn::Run);
}
