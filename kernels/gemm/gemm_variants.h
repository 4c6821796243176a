// What the variants of Gemm share: their declarations and the check of a call.

#ifndef DTNN_KERNELS_GEMM_GEMM_VARIANTS_H_
#define DTNN_KERNELS_GEMM_GEMM_VARIANTS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/serial_gemm.h"

namespace dtnn {

#define DTNN_GEMM_VARIANT(name, create) \
  absl::StatusOr<std::unique_ptr<Gemm>> create(DeviceContext& context, const GemmSpec& spec);
#include "kernels/gemm/variants.inc"
#undef DTNN_GEMM_VARIANT

struct GemmVariant {
  std::string_view name;
  absl::StatusOr<std::unique_ptr<Gemm>> (*create)(DeviceContext&, const GemmSpec&);
};

// A variant whose library few programs want: by name, in programs that link it. For objects with
// static storage alone.
class LinkedGemmVariant {
 public:
  explicit LinkedGemmVariant(const GemmVariant& variant);
};

// The first one that does not refuse the spec by InvalidArgument or Unimplemented. Any other error
// is the answer: with a library that cannot be used, a slower variant would hide it.
absl::StatusOr<std::unique_ptr<Gemm>> CreateFirst(std::span<const GemmVariant> variants,
                                                  DeviceContext& context, const GemmSpec& spec);

struct GemmSizes {
  int64_t m, n, k;
};

// The sizes of a call, taken from its tensors. InvalidArgument, naming shapes, where they do not
// fit each other, the spec or its epilogue.
absl::Status CheckGemmCall(const GemmSpec& spec, Device device, const Tensor& a, const Tensor& b,
                           const Tensor& c, const EpilogueOperands& operands, GemmSizes* sizes);

// InvalidArgument where a workspace is smaller than `bytes`.
absl::Status CheckGemmWorkspace(const GemmSpec& spec, Workspace workspace, size_t bytes);

// Unimplemented unless the context is a CPU's; InvalidArgument for types that a CPU does not
// compute with.
absl::Status CheckCpu(std::string_view variant, const DeviceContext& context, const GemmSpec& spec);

// The operands as pointers; the call has been checked.
template <typename T>
SerialEpilogue<T> PointersOf(const Epilogue& epilogue, const EpilogueOperands& operands) {
  return {epilogue.scale ? operands.scale.data<T>() : nullptr,
          epilogue.bias ? operands.bias.data<T>() : nullptr,
          epilogue.add ? operands.addend.data<T>() : nullptr,
          epilogue.add ? operands.addend.RowPitch() : 0, epilogue.relu};
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_GEMM_GEMM_VARIANTS_H_
