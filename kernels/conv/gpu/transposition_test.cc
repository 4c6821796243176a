// Matrices transposed on a GPU against the definition: extents around those of a tile, several
// blocks along each axis, and every pair of types that filters change between.

#include "kernels/conv/gpu/transposition.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn::conv {
namespace {

using testing::Get;
using testing::Put;
using testing::RandomTensor;
using testing::Values;

// Where each element of `from` goes.
std::vector<int64_t> Places(const Transposition& shape) {
  std::vector<int64_t> places(size_t(shape.size()), -1);
  for (int64_t b = 0; b < shape.batch; ++b)
    for (int64_t r = 0; r < shape.rows; ++r)
      for (int64_t c = 0; c < shape.columns; ++c) {
        places.at(size_t(b * shape.from_batch + r * shape.from_row + c)) =
            b * shape.to_batch + c * shape.to_column + r;
      }
  return places;
}

class TranspositionTest : public ::testing::Test {
 protected:
  template <typename From, typename To>
  void Expect(DType from_type, DType to_type, const Transposition& shape, bool accumulate) {
    const Tensor host = RandomTensor(from_type, {shape.size()}, 1);
    const Tensor before = RandomTensor(to_type, {shape.size()}, 2);
    const Tensor from = Put(*gpu_, host), to = Put(*gpu_, before);
    const From* const x = from.data<From>();
    ASSERT_EQ(Transpose(runner_, "test", shape, accumulate, x, to.data<To>()), absl::OkStatus());
    const Tensor after = Get(*gpu_, to);
    const std::vector<int64_t> places = Places(shape);
    for (size_t i = 0; i < places.size(); ++i) {
      const auto value = Wide<From>(host.data<From>()[i]);
      const auto old = Wide<To>(before.data<To>()[places[i]]);
      ASSERT_EQ(double(after.data<To>()[places[i]]), double(To(accumulate ? old + value : value)))
          << i << " of " << shape.batch << " x " << shape.rows << " x " << shape.columns;
    }
  }

  std::unique_ptr<DeviceContext> gpu_ = *DeviceContext::Create(Device::Simulated(0));
  const GpuRunner runner_{*gpu_};
};

TEST_F(TranspositionTest, EveryElementArrives) {
  for (const int64_t a : {1, 3, 63, 64, 65, 130}) {
    for (const int64_t c : {1, 5, 64, 66, 129}) {
      const int64_t b = a * c > 4000 ? 2 : 9;
      for (const bool accumulate : {false, true}) {
        Expect<float, float>(DType::kFloat32, DType::kFloat32, Transposition::OfReversal(a, b, c),
                             accumulate);
      }
    }
  }
  Expect<float, float>(DType::kFloat32, DType::kFloat32, Transposition::OfLast(5, 70, 9), false);
  Expect<float, float>(DType::kFloat32, DType::kFloat32, Transposition::OfLast(3, 2, 65), true);
}

TEST_F(TranspositionTest, EveryPairOfTypes) {
  const Transposition shape = Transposition::OfReversal(67, 2, 70);
  for (const bool accumulate : {false, true}) {
    Expect<double, double>(DType::kFloat64, DType::kFloat64, shape, accumulate);
    Expect<Bfloat16, float>(DType::kBfloat16, DType::kFloat32, shape, accumulate);
    Expect<Float16, float>(DType::kFloat16, DType::kFloat32, shape, accumulate);
    Expect<Bfloat16, Bfloat16>(DType::kBfloat16, DType::kBfloat16, shape, accumulate);
  }
  Expect<float, Bfloat16>(DType::kFloat32, DType::kBfloat16, shape, false);
  Expect<float, Float16>(DType::kFloat32, DType::kFloat16, shape, false);
}

TEST_F(TranspositionTest, TheInverseLeadsBack) {
  for (const Transposition& shape :
       {Transposition::OfReversal(3, 9, 65), Transposition::OfLast(4, 7, 3)}) {
    const std::vector<int64_t> there = Places(shape), back = Places(shape.Inverse());
    for (size_t i = 0; i < there.size(); ++i) {
      ASSERT_EQ(back.at(size_t(there[i])), int64_t(i));
    }
  }
}

// Where a grid has fewer blocks than there are rows of tiles or matrices, they take several.
TEST_F(TranspositionTest, BlocksTakeSeveralTiles) {
  const Transposition shape = Transposition::OfReversal(200, 5, 70);
  const Tensor host = RandomTensor(DType::kFloat32, {shape.size()}, 1);
  const Tensor from = Put(*gpu_, host), to = Put(*gpu_, host);
  const TransposeKernel<float, float> kernel = {shape, false, from.data<float>(), to.data<float>()};
  ASSERT_EQ(
      runner_.context().stream().Launch(gpu::KernelOf("test", {2, 3, 2}, {TransposedTile::kThreads},
                                                      TransposedTile::kBytes<float>, kernel)),
      absl::OkStatus());
  const std::vector<int64_t> places = Places(shape);
  const std::vector<double> before = Values(host), after = Values(Get(*gpu_, to));
  for (size_t i = 0; i < places.size(); ++i) ASSERT_EQ(after[size_t(places[i])], before[i]);
}

}  // namespace
}  // namespace dtnn::conv
