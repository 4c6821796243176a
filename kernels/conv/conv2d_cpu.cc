#include "kernels/conv/conv2d_cpu.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "kernels/conv/check.h"
#include "kernels/conv/wrap/groups.h"
#include "kernels/conv/wrap/nhwc_copies.h"
#include "kernels/workspace/scratch.h"
#include "tensor/errors.h"
#include "tensor/rounding.h"
#include "tensor/status_macros.h"

namespace dtnn::conv {
namespace {

// Whether a variant has kernels for images of bfloat16; else float32's compute.
bool HasBfloat16(const Variant& variant) { return variant.bf16.data != nullptr; }

Conv2dSpec Float32Spec(Conv2dSpec spec) {
  spec.dtype = DType::kFloat32;
  return spec;
}

// Calls make(spec) with the spec that a variant's own kernels know, and wraps what it makes.
template <typename T>
std::unique_ptr<DataKernel<T>> MakeData(const Variant& variant, const Conv2dSpec& spec,
                                        Direction direction) {
  if (spec.groups > 1 && !variant.grouped) {
    return ForEachGroup<T>(spec, direction, MakeData<T>(variant, GroupSpec(spec), direction));
  }
  if constexpr (std::is_same_v<T, Bfloat16>) {
    if (!HasBfloat16(variant)) {
      return WithNhwcCopies<T, float>(
          spec, direction, MakeData<float>(variant, Float32Spec(NhwcSpec(spec)), direction));
    }
  }
  if (spec.format == TensorFormat::kNCHW && !variant.any_format) {
    return WithNhwcCopies<T, T>(spec, direction, MakeData<T>(variant, NhwcSpec(spec), direction));
  }
  return variant.makers<T>().data(spec, direction);
}

template <typename T>
std::unique_ptr<FilterKernel<T>> MakeFilter(const Variant& variant, const Conv2dSpec& spec) {
  if (spec.groups > 1 && !variant.grouped) {
    return ForEachGroup<T>(spec, MakeFilter<T>(variant, GroupSpec(spec)));
  }
  if constexpr (std::is_same_v<T, Bfloat16>) {
    if (!HasBfloat16(variant)) {
      return WithNhwcCopies<T, float>(spec,
                                      MakeFilter<float>(variant, Float32Spec(NhwcSpec(spec))));
    }
  }
  if (spec.format == TensorFormat::kNCHW && !variant.any_format) {
    return WithNhwcCopies<T, T>(spec, MakeFilter<T>(variant, NhwcSpec(spec)));
  }
  return variant.makers<T>().filter(spec);
}

// The kernel of forward or backward data, and what it derived from which version of the filter.
template <typename T>
struct DataSide {
  std::unique_ptr<DataKernel<T>> kernel;  // null: the direction is not called
  T* kept = nullptr;                      // null: derived in the workspace of every call
  uint64_t version = 0;                   // of what is kept; 0: of nothing

  int64_t derived_elements() const { return kernel == nullptr ? 0 : kernel->derived_elements(); }
  size_t workspace_bytes() const { return kernel == nullptr ? 0 : kernel->workspace_bytes(); }
  const T* Derive(const Filter<const T>& filter, uint64_t new_version, T* scratch,
                  std::byte* workspace) {
    T* const derived = kept == nullptr ? scratch : kept;
    if (kept == nullptr || new_version == 0 || new_version != version) {
      kernel->DeriveFilter(filter, derived, workspace);
      version = new_version;
    }
    return derived;
  }
};

template <typename T>
class Conv2dCpu final : public Conv2d {
 public:
  Conv2dCpu(const Conv2dSpec& spec, const VariantChoice& choice, bool keeps_filter)
      : spec_(spec), choice_(choice), keeps_filter_(keeps_filter) {
    const auto data_side = [&](Direction direction) -> DataSide<T> {
      const Variant* const variant = choice[direction];
      if (variant == nullptr) return {};
      return {.kernel = MakeData<T>(*variant, spec, direction)};
    };
    forward_ = data_side(Direction::kForward);
    data_ = data_side(Direction::kBackwardData);
    const Variant* const filter = choice[Direction::kBackwardFilter];
    if (filter != nullptr) filter_ = MakeFilter<T>(*filter, spec);
  }

  absl::Status Forward(const Tensor& x, const ParameterView& filter, const Tensor& y,
                       const EpilogueOperands& operands, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckReady(Direction::kForward));
    DTNN_RETURN_IF_ERROR(CheckConv2dForward(spec_, Device::Cpu(), x, filter.tensor, y, operands));
    DTNN_RETURN_IF_ERROR(CheckConv2dWorkspace(workspace, workspace_bytes()));
    const Memory memory = Divide(workspace.data());
    typename DataKernel<T>::Call call;
    call.in = Images<const T>::Of(x, spec_.format);
    call.images = x.shape()[0];
    call.weights = Filter<const T>::Of(filter.tensor, spec_);
    call.filter = forward_.Derive(call.weights, filter.version, memory.derived, memory.kernel);
    if (spec_.epilogue.scale) call.write_back.scale = Pad(operands.scale, memory.scale);
    if (spec_.epilogue.bias) call.write_back.bias = Pad(operands.bias, memory.bias);
    if (spec_.epilogue.add) {
      call.write_back.addend = Images<const T>::Of(operands.addend, spec_.format);
    }
    call.write_back.relu = spec_.epilogue.relu;
    call.out = Images<T>::Of(y, spec_.format);
    call.workspace = memory.kernel;
    if (call.images > 0) forward_.kernel->Run(call);
    return absl::OkStatus();
  }

  absl::Status BackwardData(const Tensor& dy, const ParameterView& filter, const Tensor& dx,
                            bool accumulate, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckReady(Direction::kBackwardData));
    DTNN_RETURN_IF_ERROR(CheckConv2dBackwardData(spec_, Device::Cpu(), dy, filter.tensor, dx));
    DTNN_RETURN_IF_ERROR(CheckConv2dWorkspace(workspace, workspace_bytes()));
    const Memory memory = Divide(workspace.data());
    typename DataKernel<T>::Call call;
    call.in = Images<const T>::Of(dy, spec_.format);
    call.images = dy.shape()[0];
    call.weights = Filter<const T>::Of(filter.tensor, spec_);
    call.filter = data_.Derive(call.weights, filter.version, memory.derived, memory.kernel);
    if (accumulate) call.write_back.addend = Images<const T>::Of(dx, spec_.format);
    call.out = Images<T>::Of(dx, spec_.format);
    call.workspace = memory.kernel;
    if (call.images > 0) data_.kernel->Run(call);
    return absl::OkStatus();
  }

  absl::Status BackwardFilter(const Tensor& x, const Tensor& dy, const Tensor& dfilter,
                              const Tensor& dbias, bool accumulate, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckReady(Direction::kBackwardFilter));
    DTNN_RETURN_IF_ERROR(CheckConv2dBackwardFilter(spec_, Device::Cpu(), x, dy, dfilter, dbias));
    DTNN_RETURN_IF_ERROR(CheckConv2dWorkspace(workspace, workspace_bytes()));
    const typename FilterKernel<T>::Gradient gradient = {
        .dfilter = Filter<Wide<T>>::Of(dfilter, spec_),
        .dbias = dbias.empty() ? nullptr : dbias.data<Wide<T>>(),
        .accumulate = accumulate};
    filter_->Sum(Images<const T>::Of(x, spec_.format), Images<const T>::Of(dy, spec_.format),
                 x.shape()[0], /*first=*/true, gradient, workspace.data());
    filter_->Write(gradient, workspace.data());
    return absl::OkStatus();
  }

  size_t workspace_bytes() const override {
    return std::max(Divide(nullptr).bytes, filter_ == nullptr ? 0 : filter_->workspace_bytes());
  }
  size_t kept_bytes() const override { return keeps_filter_ ? DivideKept(nullptr).bytes : 0; }
  absl::Status Keep(std::shared_ptr<Buffer> memory) override {
    if (kept_bytes() == 0) return absl::OkStatus();
    if (memory == nullptr || memory->size() < kept_bytes()) {
      return InvalidArgument("convolution: memory of ", memory == nullptr ? 0 : memory->size(),
                             " bytes to keep what is derived from the filter, expected ",
                             kept_bytes());
    }
    const Kept kept = DivideKept(memory->data());
    forward_.kept = kept.forward;
    data_.kept = kept.data;
    forward_.version = data_.version = 0;
    kept_ = std::move(memory);
    return absl::OkStatus();
  }
  std::string_view variant(Direction direction) const override {
    const Variant* const chosen = choice_[direction];
    return chosen == nullptr ? "" : chosen->name;
  }

 private:
  struct Memory {
    Wide<T>*scale, *bias;
    T* derived;  // a filter that is not kept
    std::byte* kernel;
    size_t bytes;
  };

  struct Kept {
    T *forward, *data;
    size_t bytes;
  };

  absl::Status CheckReady(Direction direction) const {
    DTNN_RETURN_IF_ERROR(CheckConv2dDirection(choice_[direction] != nullptr, direction));
    if (kept_bytes() > 0 && kept_ == nullptr) {
      return absl::FailedPreconditionError("convolution: Keep was not called before it runs");
    }
    return absl::OkStatus();
  }

  Memory Divide(std::byte* workspace) const {
    ScratchDivider divider(workspace);
    Memory memory;
    memory.scale = divider.Take<Wide<T>>(PaddedFilters());
    memory.bias = divider.Take<Wide<T>>(PaddedFilters());
    memory.derived = divider.Take<T>(
        keeps_filter_ ? 0 : std::max(forward_.derived_elements(), data_.derived_elements()));
    memory.kernel = divider.Take<std::byte>(
        int64_t(std::max(forward_.workspace_bytes(), data_.workspace_bytes())));
    memory.bytes = divider.bytes();
    return memory;
  }

  Kept DivideKept(std::byte* memory) const {
    ScratchDivider divider(memory);
    Kept kept;
    kept.forward = divider.Take<T>(forward_.derived_elements());
    kept.data = divider.Take<T>(data_.derived_elements());
    kept.bytes = divider.bytes();
    return kept;
  }

  int64_t PaddedFilters() const { return RoundUp(spec_.filters, kVectorPadding); }
  const Wide<T>* Pad(const Tensor& values, Wide<T>* padded) const {
    std::copy_n(values.data<Wide<T>>(), spec_.filters, padded);
    std::fill(padded + spec_.filters, padded + PaddedFilters(), Wide<T>(0));
    return padded;
  }

  Conv2dSpec spec_;
  VariantChoice choice_;
  bool keeps_filter_;
  DataSide<T> forward_, data_;
  std::unique_ptr<FilterKernel<T>> filter_;  // null: the direction is not called
  std::shared_ptr<Buffer> kept_;
};

}  // namespace

Support SupportOf(const Variant& variant, const Conv2dSpec& spec, Direction direction) {
  if (spec.groups > 1 && !variant.grouped) {
    return SupportOf(variant, GroupSpec(spec), direction);
  }
  if (spec.format == TensorFormat::kNCHW && !variant.any_format) {
    return SupportOf(variant, NhwcSpec(spec), direction);
  }
  if (spec.dtype == DType::kBfloat16 && !HasBfloat16(variant)) {
    return variant.support(Float32Spec(spec), direction);
  }
  return variant.support(spec, direction);
}

absl::StatusOr<std::unique_ptr<Conv2d>> CreateConv2dCpu(const Conv2dSpec& spec,
                                                        const VariantChoice& choice,
                                                        bool keeps_filter) {
  if (spec.dtype == DType::kBfloat16) {
    return std::make_unique<Conv2dCpu<Bfloat16>>(spec, choice, keeps_filter);
  }
  return DispatchFloating(spec.dtype, [&](auto zero) -> std::unique_ptr<Conv2d> {
    return std::make_unique<Conv2dCpu<decltype(zero)>>(spec, choice, keeps_filter);
  });
}

}  // namespace dtnn::conv
