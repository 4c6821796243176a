// What plans are timed on, on a simulated GPU.

#include "kernels/conv/gpu/cudnn/random_body.h"

#include <vector>

#include "gtest/gtest.h"
#include "kernels/gpu/runner.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn::cudnn {
namespace {

using testing::Get;
using testing::NaNTensor;
using testing::Put;
using testing::TensorOf;
using testing::Values;

TEST(RandomBodyTest, NumbersOfTheHost) {
  const std::unique_ptr<DeviceContext> gpu = *DeviceContext::Create(Device::Simulated(0));
  constexpr uint64_t kStream = StreamId(RandomPurpose::kSynthetic, 3);
  const Philox random(0, kStream);
  for (const int64_t size : {int64_t{1}, int64_t{4}, int64_t{4003}}) {
    std::vector<double> numbers;
    for (int64_t i = 0; i < size; ++i) numbers.push_back(random.Uniform(uint64_t(i)) - 0.5);
    for (const DType dtype :
         {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16}) {
      const Tensor tensor = Put(*gpu, NaNTensor(dtype, {size}));
      DispatchGpuFloating(dtype, [&]<typename T>(T) {
        const RandomBody<T> body = {kStream, size, tensor.data<T>()};
        EXPECT_EQ(GpuRunner(*gpu).ForEach("random", body.threads(), body), absl::OkStatus());
      });
      EXPECT_EQ(Values(Get(*gpu, tensor)), Values(TensorOf(dtype, {size}, numbers)));
    }
  }
}

}  // namespace
}  // namespace dtnn::cudnn
