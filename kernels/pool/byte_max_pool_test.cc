#include "kernels/pool/byte_max_pool.h"

#include <vector>

#include "gtest/gtest.h"
#include "kernels/pool/reference.h"
#include "tensor/philox.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

Tensor RandomBytes(const Shape& shape) {
  Tensor bytes = *Tensor::Zeros(DType::kUint8, shape);
  const Philox random(5, 3);
  for (int64_t i = 0; i < bytes.num_elements(); ++i) {
    bytes.data<uint8_t>()[i] = uint8_t(random.Below(uint64_t(i), 256));
  }
  return bytes;
}

TEST(ByteMaxPoolTest, IsTheMaximumOfEachWindow) {
  for (const int64_t channels : {1, 3, 4, 7, 8, 15, 16, 31, 33, 64, 85, 130}) {
    for (PoolSpec spec :
         {PoolSpec{.height = 6, .width = 8, .window = 2, .stride = 2},
          PoolSpec{.height = 7, .width = 5, .window = 3, .stride = 2, .padding = 1},
          PoolSpec{.height = 9, .width = 10, .window = {3, 2}, .padding = {2, 1}, .dilation = 2}}) {
      spec.batch = 3, spec.channels = channels;
      ASSERT_TRUE(spec.Validate().ok());
      // Pixels have other channels beside them, which stay as they are.
      const Tensor wide_x = RandomBytes({3, spec.height, spec.width, channels + 5});
      const Tensor wide_y = RandomBytes({3, spec.out_height(), spec.out_width(), channels + 2});
      const std::vector<double> before = testing::Values(wide_y);
      const Tensor x = wide_x.Channels(2, channels, TensorFormat::kNHWC);
      const Tensor y = wide_y.Channels(1, channels, TensorFormat::kNHWC);
      const std::vector<double> values = testing::Values(x);
      std::vector<double> expected(size_t(spec.OutputShape().NumElements()));
      reference::PoolForward(spec, 3, values.data(), expected.data(), nullptr);
      MaxPoolBytes(spec, x, y);
      EXPECT_EQ(testing::Values(y), expected) << spec.ToString();
      const std::vector<double> after = testing::Values(wide_y);
      for (size_t i = 0; i < after.size(); i += size_t(channels) + 2) {
        EXPECT_EQ(after[i], before[i]);
        EXPECT_EQ(after[i + size_t(channels) + 1], before[i + size_t(channels) + 1]);
      }
    }
  }
}

}  // namespace
}  // namespace dtnn
