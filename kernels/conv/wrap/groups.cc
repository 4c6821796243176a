#include "kernels/conv/wrap/groups.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <type_traits>
#include <utility>

#include "kernels/workspace/scratch.h"
#include "tensor/rounding.h"

namespace dtnn::conv {
namespace {

// Workspaces of the groups begin at whole lines of the cache.
size_t RoundUpToLine(size_t bytes) { return RoundUp(bytes, 64); }

template <typename T>
class DataGroups final : public DataKernel<T> {
 public:
  using typename DataKernel<T>::Call;

  DataGroups(const Conv2dSpec& spec, Direction direction, std::unique_ptr<DataKernel<T>> kernel)
      : kernel_(std::move(kernel)),
        groups_(spec.groups),
        filters_(spec.filters / spec.groups),
        in_channels_(spec.channels / spec.groups),
        out_channels_(filters_),
        derived_(RoundUp(kernel_->derived_elements(), kVectorPadding)) {
    if (direction == Direction::kBackwardData) std::swap(in_channels_, out_channels_);
  }

  int64_t derived_elements() const override { return groups_ * derived_; }
  void DeriveFilter(const Filter<const T>& filter, T* derived,
                    std::byte* workspace) const override {
    for (int64_t g = 0; g < groups_; ++g) {
      kernel_->DeriveFilter(filter.From(g * filters_), derived + g * derived_, workspace);
    }
  }
  size_t workspace_bytes() const override { return VectorBytes() * 2 + kernel_->workspace_bytes(); }
  void Run(const Call& call) const override {
    auto* const scale = reinterpret_cast<Wide<T>*>(call.workspace);
    auto* const bias = reinterpret_cast<Wide<T>*>(call.workspace + VectorBytes());
    for (int64_t g = 0; g < groups_; ++g) {
      Call inner = call;
      inner.in = call.in.From(0, g * in_channels_);
      inner.out = call.out.From(0, g * out_channels_);
      inner.filter = call.filter + g * derived_;
      inner.weights = call.weights.From(g * filters_);
      inner.weights16 = call.weights16.From(g * filters_);
      inner.write_back.addend = call.write_back.addend.From(0, g * out_channels_);
      inner.write_back.scale = PadOfGroup(call.write_back.scale, g, scale);
      inner.write_back.bias = PadOfGroup(call.write_back.bias, g, bias);
      inner.workspace = call.workspace + VectorBytes() * 2;
      kernel_->Run(inner);
    }
  }

 private:
  int64_t PaddedChannels() const { return RoundUp(out_channels_, kVectorPadding); }
  size_t VectorBytes() const { return RoundUpToLine(size_t(PaddedChannels()) * sizeof(Wide<T>)); }
  const Wide<T>* PadOfGroup(const Wide<T>* values, int64_t group, Wide<T>* memory) const {
    if (values == nullptr) return nullptr;
    std::copy_n(values + group * out_channels_, out_channels_, memory);
    std::fill(memory + out_channels_, memory + PaddedChannels(), Wide<T>(0));
    return memory;
  }

  std::unique_ptr<DataKernel<T>> kernel_;
  int64_t groups_, filters_, in_channels_, out_channels_, derived_;
};

template <typename T>
class FilterGroups final : public FilterKernel<T> {
 public:
  using typename FilterKernel<T>::Gradient;

  FilterGroups(const Conv2dSpec& spec, std::unique_ptr<FilterKernel<T>> kernel)
      : kernel_(std::move(kernel)),
        groups_(spec.groups),
        channels_(spec.channels / spec.groups),
        filters_(spec.filters / spec.groups) {}

  // The sums of a group live until Write. So that one workspace serves all groups, one after the
  // other, Write does all of it, and Sum only notes what is to be added.
  size_t workspace_bytes() const override { return kNoteBytes + kernel_->workspace_bytes(); }
  void Sum(const Images<const T>& x, const Images<const T>& dy, int64_t images, bool first,
           const Gradient&, std::byte* workspace) const override {
    static_cast<void>(first);
    assert(first);  // nothing is around this kernel that would divide a batch
    new (workspace) Note{x, dy, images};
  }
  void Write(const Gradient& gradient, std::byte* workspace) const override {
    const Note note = *std::launder(reinterpret_cast<const Note*>(workspace));
    std::byte* const inner = workspace + kNoteBytes;
    for (int64_t g = 0; g < groups_; ++g) {
      kernel_->Sum(note.x.From(0, g * channels_), note.dy.From(0, g * filters_), note.images,
                   /*first=*/true, Of(gradient, g), inner);
      kernel_->Write(Of(gradient, g), inner);
    }
  }

 private:
  struct Note {
    Images<const T> x, dy;
    int64_t images;
  };
  static constexpr size_t kNoteBytes = 128;  // whole lines of the cache
  static_assert(sizeof(Note) <= kNoteBytes && std::is_trivially_destructible_v<Note>);

  Gradient Of(const Gradient& gradient, int64_t group) const {
    Wide<T>* const dbias = gradient.dbias == nullptr ? nullptr : gradient.dbias + group * filters_;
    return {gradient.dfilter.From(group * filters_), dbias, gradient.accumulate};
  }

  std::unique_ptr<FilterKernel<T>> kernel_;
  int64_t groups_, channels_, filters_;
};

}  // namespace

Conv2dSpec GroupSpec(const Conv2dSpec& spec) {
  Conv2dSpec group = spec;
  group.channels /= spec.groups;
  group.filters /= spec.groups;
  group.groups = 1;
  return group;
}

template <typename T>
std::unique_ptr<DataKernel<T>> ForEachGroup(const Conv2dSpec& spec, Direction direction,
                                            std::unique_ptr<DataKernel<T>> kernel) {
  return std::make_unique<DataGroups<T>>(spec, direction, std::move(kernel));
}
template <typename T>
std::unique_ptr<FilterKernel<T>> ForEachGroup(const Conv2dSpec& spec,
                                              std::unique_ptr<FilterKernel<T>> kernel) {
  return std::make_unique<FilterGroups<T>>(spec, std::move(kernel));
}

template std::unique_ptr<DataKernel<float>> ForEachGroup(const Conv2dSpec&, Direction,
                                                         std::unique_ptr<DataKernel<float>>);
template std::unique_ptr<DataKernel<double>> ForEachGroup(const Conv2dSpec&, Direction,
                                                          std::unique_ptr<DataKernel<double>>);
template std::unique_ptr<DataKernel<Bfloat16>> ForEachGroup(const Conv2dSpec&, Direction,
                                                            std::unique_ptr<DataKernel<Bfloat16>>);
template std::unique_ptr<FilterKernel<float>> ForEachGroup(const Conv2dSpec&,
                                                           std::unique_ptr<FilterKernel<float>>);
template std::unique_ptr<FilterKernel<double>> ForEachGroup(const Conv2dSpec&,
                                                            std::unique_ptr<FilterKernel<double>>);

template std::unique_ptr<FilterKernel<Bfloat16>> ForEachGroup(
    const Conv2dSpec&, std::unique_ptr<FilterKernel<Bfloat16>>);

}  // namespace dtnn::conv
