#include "kernels/conv/choice/fastest.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "kernels/conv/choice/direct_methods.h"
#include "tensor/errors.h"
#include "tensor/philox.h"

namespace dtnn {
namespace {

using conv::Direction;

// Numbers of either sign from 1/2 to 1: none that is slower than others, and sums stay small. Made
// once and repeated, since images are large.
template <typename T>
std::array<T, 4093> MakePattern() {
  const Philox random(/*seed=*/0, StreamId(RandomPurpose::kSynthetic));
  std::array<T, 4093> pattern;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const double value = random.Uniform(i) - 0.5;
    pattern[i] = T(value < 0 ? value - 0.5 : value + 0.5);
  }
  return pattern;
}

void Fill(const Tensor& tensor) {
  DispatchCpuFloating(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    static const std::array<T, 4093> pattern = MakePattern<T>();
    T* const values = tensor.data<T>();
    const int64_t count = tensor.num_elements(), period = int64_t(pattern.size());
    for (int64_t i = 0; i < count; i += period) {
      std::copy_n(pattern.data(), std::min(period, count - i), values + i);
    }
  });
}

absl::StatusOr<Tensor> Filled(DType dtype, const Shape& shape) {
  DTNN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(Device::Cpu(), dtype, shape));
  Fill(tensor);
  return tensor;
}

// What the candidates for a direction of a spec work on; they share it.
struct Workbench {
  static absl::StatusOr<std::shared_ptr<Workbench>> Create(const Conv2dSpec& spec,
                                                           Direction direction, bool keeps_filter) {
    auto bench = std::make_shared<Workbench>();
    bench->direction = direction;
    bench->keeps_filter = keeps_filter;
    const auto fill = [&](Tensor& tensor, DType dtype, const Shape& shape) -> absl::Status {
      DTNN_ASSIGN_OR_RETURN(tensor, Filled(dtype, shape));
      return absl::OkStatus();
    };
    const DType dtype = spec.dtype, wide = WideOf(dtype);
    const bool gradient = direction == Direction::kBackwardFilter;
    DTNN_RETURN_IF_ERROR(fill(bench->x, dtype, spec.InputShape()));
    DTNN_RETURN_IF_ERROR(fill(bench->y, dtype, spec.OutputShape()));
    DTNN_RETURN_IF_ERROR(fill(bench->filter, gradient ? wide : dtype, spec.FilterShape()));
    EpilogueOperands& operands = bench->operands;
    const Epilogue& epilogue = spec.epilogue;
    if (epilogue.bias) DTNN_RETURN_IF_ERROR(fill(operands.bias, wide, {spec.filters}));
    if (epilogue.scale) DTNN_RETURN_IF_ERROR(fill(operands.scale, wide, {spec.filters}));
    if (epilogue.add) DTNN_RETURN_IF_ERROR(fill(operands.addend, dtype, spec.OutputShape()));
    return bench;
  }

  // The filter keeps its version: what is derived from it is derived as often as in real calls.
  absl::Status Run(Conv2d& conv) const {
    const Workspace space(workspace->data(), workspace->size());
    switch (direction) {
      case Direction::kForward:
        return conv.Forward(x, {filter, 1}, y, operands, space);
      case Direction::kBackwardData:
        return conv.BackwardData(y, {filter, 1}, x, /*accumulate=*/false, space);
      case Direction::kBackwardFilter:
        break;
    }
    return conv.BackwardFilter(x, y, filter, operands.bias, /*accumulate=*/false, space);
  }

  Direction direction = Direction::kForward;
  bool keeps_filter = false;
  Tensor x, y, filter;  // or its gradient
  EpilogueOperands operands;
  std::shared_ptr<Buffer> workspace;  // of the one that needs the most
};

// The variants that compute a direction, first the one that would run without a tuner.
std::vector<std::string_view> Computing(const Conv2dSpec& spec, Direction direction) {
  std::vector<std::string_view> names = {AutomaticVariant(spec, direction)};
  for (const std::string_view name : Conv2dVariantNames()) {
    if (name != names[0] && Conv2dRefusal(name, spec, direction).empty()) names.push_back(name);
  }
  return names;
}

// A variant with memory of its own for what it keeps, and room for it on the bench.
// ResourceExhausted where there is no memory.
absl::StatusOr<BestOfCandidate> MakeCandidate(DeviceContext& context, const Conv2dSpec& spec,
                                              std::string_view variant, std::string name,
                                              const std::shared_ptr<Workbench>& bench,
                                              AllocateWorkspace allocate) {
  Conv2dVariants variants;
  variants[bench->direction] = variant;
  const Conv2dUse use = {.directions = conv::Only(bench->direction),
                         .keeps_filter = bench->keeps_filter};
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Conv2d> conv, CreateConv2d(context, spec, variants, use));
  if (conv->kept_bytes() > 0) {
    DTNN_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> memory, allocate(conv->kept_bytes()));
    DTNN_RETURN_IF_ERROR(conv->Keep(std::move(memory)));
  }
  if (bench->workspace == nullptr || bench->workspace->size() < conv->workspace_bytes()) {
    DTNN_ASSIGN_OR_RETURN(bench->workspace, allocate(conv->workspace_bytes()));
  }
  return BestOfCandidate{std::move(name), [bench, conv = std::shared_ptr<Conv2d>(std::move(conv))] {
                           return bench->Run(*conv);
                         }};
}

// The name in the list of variants that a decision means, which may be that of a direct method.
absl::StatusOr<std::string_view> Decided(std::string_view chosen, const BestOfKey& key,
                                         const Conv2dSpec& spec, Direction direction) {
  const std::string_view method = VariantOfDirectMethod(chosen);
  const std::string_view variant = method.empty() ? chosen : method;
  const std::string_view refusal = Conv2dRefusal(variant, spec, direction);
  for (const std::string_view name : Conv2dVariantNames()) {
    if (name == variant && refusal.empty()) return name;
  }
  return InvalidArgument("the decision for ", key.ToString(), " is ", Quoted(chosen), ": ", refusal,
                         "; delete its line, and it is decided anew");
}

absl::StatusOr<std::string_view> FastestOf(BestOf& best_of, DeviceContext& context,
                                           const Conv2dSpec& spec, Direction direction,
                                           bool keeps_filter, AllocateWorkspace allocate) {
  const BestOfKey key = FastestConv2dKey(spec, direction, keeps_filter);
  const absl::StatusOr<std::string> chosen =
      best_of.Choose(key, [&]() -> absl::StatusOr<std::vector<BestOfCandidate>> {
        DTNN_ASSIGN_OR_RETURN(const std::shared_ptr<Workbench> bench,
                              Workbench::Create(spec, direction, keeps_filter));
        std::vector<BestOfCandidate> candidates;
        absl::Status exhausted;
        for (const std::string_view variant : Computing(spec, direction)) {
          const std::string name = best_of.NameOf(variant);
          absl::StatusOr<BestOfCandidate> candidate =
              MakeCandidate(context, spec, variant, name, bench, allocate);
          if (candidate.ok()) {
            candidates.push_back(*std::move(candidate));
          } else if (absl::IsResourceExhausted(candidate.status())) {
            exhausted = candidate.status();
            best_of.Warn(
                StrCat(key.ToString(), ": ", name, " is not timed: ", exhausted.message()));
          } else {
            return candidate.status();
          }
        }
        if (candidates.empty()) return exhausted;
        return candidates;
      });
  if (chosen.ok()) return Decided(*chosen, key, spec, direction);
  if (!absl::IsResourceExhausted(chosen.status())) return chosen.status();
  best_of.Warn(
      StrCat(key.ToString(), ": not timed, automatic choice: ", chosen.status().message()));
  return "auto";
}

}  // namespace

absl::StatusOr<std::shared_ptr<Buffer>> AllocateHostWorkspace(size_t bytes) {
  return Buffer::Allocate(Device::Cpu(), bytes);
}

absl::StatusOr<Conv2dVariants> FastestConv2d(BestOf& best_of, DeviceContext& context,
                                             const Conv2dSpec& spec, const Conv2dUse& use,
                                             AllocateWorkspace allocate) {
  DTNN_RETURN_IF_ERROR(spec.Validate());
  Conv2dVariants variants;
  if (!context.device().is_cpu()) return variants;
  for (const Direction direction : conv::kDirections) {
    if (!use.directions[direction]) continue;
    DTNN_ASSIGN_OR_RETURN(variants[direction],
                          FastestOf(best_of, context, conv::SpecOf(spec, direction), direction,
                                    use.keeps_filter, allocate));
  }
  return variants;
}

}  // namespace dtnn
