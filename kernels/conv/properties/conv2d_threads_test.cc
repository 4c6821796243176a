// The same bits on any number of threads, of images that come in chunks and of views.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/conv/conv2d.h"
#include "kernels/conv/testing/conv2d_runner.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Conv2dRunner;
using testing::Pitched;
using testing::RandomTensor;
using testing::Values;
using testing::WhereSupported;

class Conv2dThreadsTest : public ::testing::Test {
 protected:
  ~Conv2dThreadsTest() override { SetNumThreads(before_); }

  // Every direction of every variant, all operands slices of wider tensors, as in a concatenation;
  // gradients are added to what is there.
  void ExpectSameBits(const Conv2dSpec& spec) {
    for (const std::string_view variant : Conv2dVariantNames()) {
      SCOPED_TRACE(absl::StrCat(std::string(variant), " ", spec.ToString()));
      std::vector<std::vector<double>> first;
      for (const auto& [made_with, run_with] :
           {std::pair(1, 1), std::pair(2, 2), std::pair(4, 4), std::pair(4, 1), std::pair(16, 2),
            std::pair(2, 16)}) {
        const std::vector<std::vector<double>> now = Run(spec, variant, made_with, run_with);
        if (first.empty()) first = now;
        EXPECT_TRUE(now == first) << "made with " << made_with << ", run with " << run_with;
      }
    }
  }

 private:
  static std::vector<std::vector<double>> Run(const Conv2dSpec& spec, std::string_view variant,
                                              int made_with, int run_with) {
    const auto random = [&](const Shape& shape, uint64_t seed) {
      return RandomTensor(spec.dtype, shape, seed);
    };
    const auto slice = [&](const Shape& shape, uint64_t seed) {
      return Pitched(random(shape, seed), spec.format);
    };
    SetNumThreads(made_with);
    Conv2dRunner runner(spec, WhereSupported(variant, spec));
    SetNumThreads(run_with);
    const Tensor x = slice(spec.InputShape(), 1), dy = slice(spec.OutputShape(), 2);
    const Tensor w = random(spec.FilterShape(), 3), bias = random({spec.filters}, 4);
    const Tensor y = slice(spec.OutputShape(), 5), dx = slice(spec.InputShape(), 6);
    const Tensor dw = random(spec.FilterShape(), 7), dbias = random({spec.filters}, 8);
    runner.Forward(x, w, y, {.bias = bias, .addend = dy});
    runner.BackwardData(dy, w, dx, true);
    runner.BackwardFilter(x, dy, dw, dbias, true);
    return {Values(y, spec.format), Values(dx, spec.format), Values(dw), Values(dbias)};
  }

  const int before_ = NumThreads();
};

// Chunks have 4 MB of images and results, and the last one has fewer images.
TEST_F(Conv2dThreadsTest, ChunksOfNchwImages) {
  Conv2dSpec spec;
  spec.batch = 4, spec.height = 91, spec.width = 90, spec.channels = 2, spec.filters = 31;
  spec.kernel = 3, spec.padding = 1;
  spec.format = TensorFormat::kNCHW;
  spec.epilogue = {.bias = true, .add = true, .relu = true};
  ExpectSameBits(spec);
  spec.batch = 2, spec.height = 181, spec.stride = Pair(2, 1);
  ExpectSameBits(spec);
}

TEST_F(Conv2dThreadsTest, ChunksOfNchwImagesOfGroups) {
  Conv2dSpec spec;
  spec.batch = 2, spec.height = 190, spec.width = 189, spec.channels = 12, spec.filters = 18;
  spec.groups = 2;
  spec.kernel = Pair(1, 3), spec.padding = Pair(0, 1);
  spec.format = TensorFormat::kNCHW;
  spec.epilogue = {.bias = true, .add = true};
  ExpectSameBits(spec);
  spec.height = 130, spec.width = 129;
  spec.channels = spec.filters = spec.groups = 34;
  ExpectSameBits(spec);
}

// Gradients of 1x1 filters in several parts of several strips of pixels, with x copied and without;
// few pixels for a large filter.
TEST_F(Conv2dThreadsTest, SinglePixels) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    Conv2dSpec spec;
    spec.batch = 8, spec.height = spec.width = 14, spec.channels = 259, spec.filters = 66;
    spec.kernel = 1, spec.format = format;
    spec.epilogue = {.bias = true, .add = true, .relu = true};
    ExpectSameBits(spec);
    spec.batch = 3, spec.height = 45, spec.channels = 31, spec.filters = 17;
    ExpectSameBits(spec);
    spec.batch = 1, spec.height = spec.width = 3, spec.channels = 40, spec.filters = 150;
    ExpectSameBits(spec);
  }
}

// Winograd's tiles in slices, whose blocks of the gradient are smaller the more threads there are.
TEST_F(Conv2dThreadsTest, SlicesOfTiles) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    Conv2dSpec spec;
    spec.batch = 2, spec.height = spec.width = 13, spec.channels = 70, spec.filters = 140;
    spec.kernel = 3, spec.padding = 1, spec.format = format;
    spec.epilogue = {.bias = true, .add = true, .relu = true};
    ExpectSameBits(spec);
    spec.channels = 128, spec.filters = 171;  // whose filter is not kept in transformed form
    ExpectSameBits(spec);
  }
}

TEST_F(Conv2dThreadsTest, SlicesOfConcatenations) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      for (const int64_t groups : {1, 3}) {
        Conv2dSpec spec;
        spec.batch = 5, spec.height = 13, spec.width = 12, spec.channels = 24, spec.filters = 36;
        spec.groups = groups;
        spec.kernel = 3, spec.padding = 1;
        spec.format = format, spec.dtype = dtype;
        spec.epilogue = {.bias = true, .add = true, .relu = true};
        ExpectSameBits(spec);
      }
    }
  }
}

}  // namespace
}  // namespace dtnn
