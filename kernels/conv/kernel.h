// What a variant of the convolution on CPUs provides: a kernel for each direction, made once for a
// spec and run many times. Callers use conv2d.h, whose Conv2d checks operands, chooses the kernels
// and hands them what they derived from the filter; a kernel computes and cannot fail.
//
// Forward and backward data are one kind of kernel: `out = write_back(sum over taps and depth of
// in * filter)`, from x to y or from dy to dx. A kernel divides its work over the threads itself,
// allocates nothing, and gives the same bits on any number of threads.

#ifndef DTNN_KERNELS_CONV_KERNEL_H_
#define DTNN_KERNELS_CONV_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>

#include "kernels/conv/conv2d_spec.h"
#include "kernels/conv/direction.h"
#include "kernels/conv/images.h"
#include "tensor/float16.h"

namespace dtnn::conv {

// Scale and bias of a write-back are padded with zeros to a multiple of this many elements, so that
// kernels may read whole vectors.
inline constexpr int64_t kVectorPadding = 64;

// What happens to the sums; see kernels/operands/epilogue.h. Where images have 16 bits, the result
// is rounded once, at the end.
template <typename T>
struct WriteBack {
  const Wide<T>* scale = nullptr;
  const Wide<T>* bias = nullptr;
  Images<const T> addend = {};  // data may be null; may be the output itself
  bool relu = false;
};

template <typename T>
class DataKernel {
 public:
  struct Call {
    Images<const T> in;
    int64_t images = 0;         // at most the batch of the spec; may be 0
    const T* filter = nullptr;  // as DeriveFilter left it
    Filter<const T> weights;    // the filter itself; without data where the next one has some
    Filter<const Bfloat16> weights16;  // the filter of a caller that computes within copies
    WriteBack<T> write_back = {};
    Images<T> out;
    std::byte* workspace = nullptr;  // workspace_bytes()
  };

  virtual ~DataKernel() = default;
  // Elements of what the kernel derives from the filter: packed panels, transformed tiles.
  virtual int64_t derived_elements() const = 0;
  // With the same workspace as Run.
  virtual void DeriveFilter(const Filter<const T>& filter, T* derived,
                            std::byte* workspace) const = 0;
  // For the threads available when the kernel was made.
  virtual size_t workspace_bytes() const = 0;
  virtual void Run(const Call& call) const = 0;
};

template <typename T>
class FilterKernel {
 public:
  // What the sums become: dfilter = (accumulate ? dfilter : 0) + sum, and dbias likewise unless
  // null.
  struct Gradient {
    Filter<Wide<T>> dfilter;
    Wide<T>* dbias = nullptr;
    bool accumulate = false;
  };

  virtual ~FilterKernel() = default;
  virtual size_t workspace_bytes() const = 0;
  // Adds images to the sums in the workspace, which `first` starts anew. A batch may come in
  // several calls, always divided in the same way, of which only the last has fewer images than the
  // spec's batch; Write follows the last. Sum may write the filter's gradient already: all calls up
  // to Write bring the same one, whose memory nobody else touches.
  virtual void Sum(const Images<const T>& x, const Images<const T>& dy, int64_t images, bool first,
                   const Gradient& gradient, std::byte* workspace) const = 0;
  virtual void Write(const Gradient& gradient, std::byte* workspace) const = 0;
};

// Whether a variant computes a direction of a spec. Asked for every variant that may run: nothing
// is allocated to say it.
struct Support {
  std::string_view refusal;  // why not; empty: it does
  // The rounding error in proportion to that of a sum in order.
  double error = 1;

  bool ok() const { return refusal.empty(); }
};

template <typename T>
struct KernelMakers {
  std::unique_ptr<DataKernel<T>> (*data)(const Conv2dSpec&, Direction) = nullptr;
  std::unique_ptr<FilterKernel<T>> (*filter)(const Conv2dSpec&) = nullptr;
};

// One algorithm. Images of bfloat16 are brought into float32 for a variant without makers for them,
// and back. Specs that reach `support` and the makers are valid; they are NHWC and have one
// group unless the variant says that it takes others. `support` allocates
// nothing, the makers nothing but small tables.
struct Variant {
  std::string_view name;
  bool any_format = false;  // else NCHW images are brought into NHWC order for it
  bool grouped = false;     // else it is called once for each group
  Support (*support)(const Conv2dSpec& spec, Direction direction) = nullptr;
  // How many times as fast as gemm it is expected to be; 0: slower. For specs that it supports, as
  // the caller has them, of any format and groups. Null: it runs only where it is named.
  double (*gain)(const Conv2dSpec& spec, Direction direction) = nullptr;
  KernelMakers<float> f32 = {};
  KernelMakers<double> f64 = {};
  KernelMakers<Bfloat16> bf16 = {};

  template <typename T>
  const KernelMakers<T>& makers() const {
    if constexpr (std::is_same_v<T, float>) {
      return f32;
    } else if constexpr (std::is_same_v<T, Bfloat16>) {
      return bf16;
    } else {
      return f64;
    }
  }
};

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_KERNEL_H_
