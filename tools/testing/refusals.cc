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
      refuses("a longer shape", ZeroTensor(fits.dtype(), Longer(shape, axis)));
    }
    refuses("one axis more", ZeroTensor(fits.dtype(), shape.Prepend(1)));
    refuses("another type",
            ZeroTensor(fits.dtype() == DType::kFloat64 ? DType::kFloat32 : DType::kFloat64, shape));
    refuses("another device", *Tensor::Allocate(Device::Simulated(0), fits.dtype(), shape));
    if (!operand.may_be_pitched && (shape.rank() == 2 || shape.rank() == 4)) {
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
