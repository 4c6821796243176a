#include "tools/testing/refusals.h"

#include <utility>

#include "gtest/gtest.h"
#include "tools/testing/fenced.h"
#include "tools/testing/tensors.h"

namespace dtnn::testing {
namespace {

// With one element more along an axis.
Shape Longer(const Shape& shape, int axis) {
  std::vector<int64_t> extents(shape.extents().begin(), shape.extents().end());
  ++extents[size_t(axis)];
  return *Shape::Make(extents);
}

// As a tensor that fits has it: on its device. Zeros, where that is the host.
Tensor Like(const Tensor& fits, DType dtype, const Shape& shape) {
  if (fits.device().is_cpu()) return ZeroTensor(dtype, shape);
  return *Tensor::Allocate(fits.device(), dtype, shape);
}

}  // namespace

void ExpectRefusals(const std::vector<CheckedOperand>& operands,
                    absl::FunctionRef<absl::Status()> call) {
  ASSERT_EQ(call(), absl::OkStatus());
  for (const CheckedOperand& operand : operands) {
    const Tensor fits = *operand.tensor;
    const auto refuses = [&](const char* what, Tensor other) {
      *operand.tensor = std::move(other);
      EXPECT_EQ(call().code(), absl::StatusCode::kInvalidArgument)
          << operand.name << ": " << what << " is accepted";
    };
    const Shape& shape = fits.shape();
    if (!operand.optional) refuses("nothing", Tensor());
    for (int axis = 0; axis < shape.rank(); ++axis) {
      refuses("a longer shape", Like(fits, fits.dtype(), Longer(shape, axis)));
    }
    refuses("one axis more", Like(fits, fits.dtype(), shape.Prepend(1)));
    refuses("another type",
            Like(fits, fits.dtype() == DType::kFloat64 ? DType::kFloat32 : DType::kFloat64, shape));
    const bool on_host = fits.device().is_cpu();
    refuses("another device",
            *Tensor::Allocate(on_host ? Device::Simulated(0) : Device::Cpu(), fits.dtype(), shape));
    if (on_host && !operand.may_be_pitched && (shape.rank() == 2 || shape.rank() == 4)) {
      refuses("a pitch", FencedPitched(fits.dtype(), shape, TensorFormat::kNHWC));
    }
    *operand.tensor = fits;
  }
  EXPECT_EQ(call(), absl::OkStatus());
}

void ExpectWorkspaceOf(size_t bytes, absl::FunctionRef<absl::Status(std::span<std::byte>)> call) {
  EXPECT_EQ(call(FencedWorkspace(bytes)), absl::OkStatus());
  if (bytes == 0) return;
  EXPECT_EQ(call(FencedWorkspace(bytes - 1)).code(), absl::StatusCode::kInvalidArgument)
      << "a workspace of " << bytes - 1 << " bytes is accepted, needed are " << bytes;
}

}  // namespace dtnn::testing
