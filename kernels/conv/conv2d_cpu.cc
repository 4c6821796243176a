#include "kernels/conv/conv2d_cpu.h"

#include <algorithm>
#include <utility>

#include "kernels/conv/check.h"
#include "kernels/conv/groups.h"
#include "kernels/conv/nhwc_copies.h"
#include "kernels/scratch.h"
#include "tensor/rounding.h"
#include "tensor/status_macros.h"

namespace dtnn::conv {
namespace {

// Calls make(spec) with the spec that a variant's own kernels know, and wraps what it makes.
template <typename T>
std::unique_ptr<DataKernel<T>> MakeData(const Variant& variant, const Conv2dSpec& spec,
                                        Direction direction) {
  if (spec.groups > 1 && !variant.grouped) {
    return ForEachGroup<T>(spec, direction, MakeData<T>(variant, GroupSpec(spec), direction));
  }
  if (spec.format == TensorFormat::kNCHW && !variant.any_format) {
    return WithNhwcCopies<T>(spec, direction, MakeData<T>(variant, NhwcSpec(spec), direction));
  }
  return variant.makers<T>().data(spec, direction);
}

template <typename T>
std::unique_ptr<FilterKernel<T>> MakeFilter(const Variant& variant, const Conv2dSpec& spec) {
  if (spec.groups > 1 && !variant.grouped) {
    return ForEachGroup<T>(spec, MakeFilter<T>(variant, GroupSpec(spec)));
  }
  if (spec.format == TensorFormat::kNCHW && !variant.any_format) {
    return WithNhwcCopies<T>(spec, MakeFilter<T>(variant, NhwcSpec(spec)));
  }
  return variant.makers<T>().filter(spec);
}

// What a kernel derived from the filter, and from which version of it; or nothing, where it is
// derived in the workspace of every call.
template <typename T>
class DerivedFilter {
 public:
  absl::Status Allocate(int64_t elements) {
    DTNN_ASSIGN_OR_RETURN(values_, Tensor::Allocate(Device::Cpu(), DTypeOf<T>(),
                                                    Shape{std::max<int64_t>(elements, 1)}));
    return absl::OkStatus();
  }

  const T* Get(const DataKernel<T>& kernel, const ParameterView& filter, const Conv2dSpec& spec,
               T* scratch) {
    T* const derived = values_.empty() ? scratch : values_.data<T>();
    if (values_.empty() || filter.version == 0 || filter.version != version_) {
      kernel.DeriveFilter(Filter<const T>::Of(filter.tensor, spec), derived);
      version_ = filter.version;
    }
    return derived;
  }

 private:
  Tensor values_;
  uint64_t version_ = 0;
};

template <typename T>
class Conv2dCpu final : public Conv2d {
 public:
  static absl::StatusOr<std::unique_ptr<Conv2d>> Create(const Conv2dSpec& spec,
                                                        const VariantChoice& choice) {
    std::unique_ptr<Conv2dCpu> conv(new Conv2dCpu(spec, choice));
    if (!spec.keeps_filter) return conv;
    DTNN_RETURN_IF_ERROR(conv->forward_filter_.Allocate(conv->forward_->derived_elements()));
    DTNN_RETURN_IF_ERROR(conv->data_filter_.Allocate(conv->data_->derived_elements()));
    return conv;
  }

  absl::Status Forward(const Tensor& x, const ParameterView& filter, const Tensor& y,
                       const EpilogueOperands& operands, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckConv2dForward(spec_, Device::Cpu(), x, filter.tensor, y, operands));
    DTNN_RETURN_IF_ERROR(CheckConv2dWorkspace(workspace, workspace_bytes()));
    const Memory memory = Divide(workspace.data());
    typename DataKernel<T>::Call call;
    call.in = Images<const T>::Of(x, spec_.format);
    call.images = x.shape()[0];
    call.filter = forward_filter_.Get(*forward_, filter, spec_, memory.derived);
    call.weights = Filter<const T>::Of(filter.tensor, spec_);
    if (spec_.epilogue.scale) call.write_back.scale = Pad(operands.scale, memory.scale);
    if (spec_.epilogue.bias) call.write_back.bias = Pad(operands.bias, memory.bias);
    if (spec_.epilogue.add) {
      call.write_back.addend = Images<const T>::Of(operands.addend, spec_.format);
    }
    call.write_back.relu = spec_.epilogue.relu;
    call.out = Images<T>::Of(y, spec_.format);
    call.workspace = memory.kernel;
    if (call.images > 0) forward_->Run(call);
    return absl::OkStatus();
  }

  absl::Status BackwardData(const Tensor& dy, const ParameterView& filter, const Tensor& dx,
                            bool accumulate, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckConv2dBackwardData(spec_, Device::Cpu(), dy, filter.tensor, dx));
    DTNN_RETURN_IF_ERROR(CheckConv2dWorkspace(workspace, workspace_bytes()));
    const Memory memory = Divide(workspace.data());
    typename DataKernel<T>::Call call;
    call.in = Images<const T>::Of(dy, spec_.format);
    call.images = dy.shape()[0];
    call.filter = data_filter_.Get(*data_, filter, spec_, memory.derived);
    call.weights = Filter<const T>::Of(filter.tensor, spec_);
    if (accumulate) call.write_back.addend = Images<const T>::Of(dx, spec_.format);
    call.out = Images<T>::Of(dx, spec_.format);
    call.workspace = memory.kernel;
    if (call.images > 0) data_->Run(call);
    return absl::OkStatus();
  }

  absl::Status BackwardFilter(const Tensor& x, const Tensor& dy, const Tensor& dfilter,
                              const Tensor& dbias, bool accumulate, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckConv2dBackwardFilter(spec_, Device::Cpu(), x, dy, dfilter, dbias));
    DTNN_RETURN_IF_ERROR(CheckConv2dWorkspace(workspace, workspace_bytes()));
    const typename FilterKernel<T>::Gradient gradient = {
        .dfilter = Filter<T>::Of(dfilter, spec_),
        .dbias = dbias.empty() ? nullptr : dbias.data<T>(),
        .accumulate = accumulate};
    filter_->Sum(Images<const T>::Of(x, spec_.format), Images<const T>::Of(dy, spec_.format),
                 x.shape()[0], /*first=*/true, gradient, workspace.data());
    filter_->Write(gradient, workspace.data());
    return absl::OkStatus();
  }

  size_t workspace_bytes() const override {
    return std::max(Divide(nullptr).bytes, filter_->workspace_bytes());
  }
  std::string_view variant(Direction direction) const override {
    switch (direction) {
      case Direction::kForward:
        return choice_.forward->name;
      case Direction::kBackwardData:
        return choice_.backward_data->name;
      case Direction::kBackwardFilter:
        return choice_.backward_filter->name;
    }
    return "";
  }

 private:
  struct Memory {
    T *scale, *bias;
    T* derived;  // a filter that is not kept
    std::byte* kernel;
    size_t bytes;
  };

  Conv2dCpu(const Conv2dSpec& spec, const VariantChoice& choice)
      : spec_(spec),
        choice_(choice),
        forward_(MakeData<T>(*choice.forward, spec, Direction::kForward)),
        data_(MakeData<T>(*choice.backward_data, spec, Direction::kBackwardData)),
        filter_(MakeFilter<T>(*choice.backward_filter, spec)) {}

  Memory Divide(std::byte* workspace) const {
    ScratchDivider divider(workspace);
    Memory memory;
    memory.scale = divider.Take<T>(PaddedFilters());
    memory.bias = divider.Take<T>(PaddedFilters());
    memory.derived = divider.Take<T>(
        spec_.keeps_filter ? 0 : std::max(forward_->derived_elements(), data_->derived_elements()));
    memory.kernel = divider.Take<std::byte>(
        int64_t(std::max(forward_->workspace_bytes(), data_->workspace_bytes())));
    memory.bytes = divider.bytes();
    return memory;
  }

  int64_t PaddedFilters() const { return RoundUp(spec_.filters, kVectorPadding); }
  const T* Pad(const Tensor& values, T* padded) const {
    std::copy_n(values.data<T>(), spec_.filters, padded);
    std::fill(padded + spec_.filters, padded + PaddedFilters(), T(0));
    return padded;
  }

  Conv2dSpec spec_;
  VariantChoice choice_;
  std::unique_ptr<DataKernel<T>> forward_, data_;
  std::unique_ptr<FilterKernel<T>> filter_;
  DerivedFilter<T> forward_filter_, data_filter_;
};

}  // namespace

Support SupportOf(const Variant& variant, const Conv2dSpec& spec, Direction direction) {
  if (spec.groups > 1 && !variant.grouped) {
    return SupportOf(variant, GroupSpec(spec), direction);
  }
  if (spec.format == TensorFormat::kNCHW && !variant.any_format) {
    return SupportOf(variant, NhwcSpec(spec), direction);
  }
  return variant.support(spec, direction);
}

absl::StatusOr<std::unique_ptr<Conv2d>> CreateConv2dCpu(const Conv2dSpec& spec,
                                                        const VariantChoice& choice) {
  return DispatchFloating(
      spec.dtype, [&](auto zero) { return Conv2dCpu<decltype(zero)>::Create(spec, choice); });
}

}  // namespace dtnn::conv
