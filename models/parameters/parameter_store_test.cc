#include "models/parameters/parameter_store.h"

#include <array>
#include <cmath>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/transfers/transfers.h"
#include "models/graph/builder.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Values;

Graph SmallGraph() {
  GraphBuilder b("small", TensorFormat::kNHWC);
  b.Input({4, 4, 3}).Conv2d(5).Flatten().Fc(7);
  return *b.Build();
}

class ParameterStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<DeviceContext> device_ = *DeviceContext::Create(Device::Cpu());
  const Graph graph_ = SmallGraph();
};

TEST_F(ParameterStoreTest, ParametersAreAlignedSlicesOfOneArena) {
  auto store = *ParameterStore::Create(graph_, *device_, DType::kFloat32, 1);
  const std::byte* begin = store->all_values().raw_data();
  const std::byte* end = begin + store->all_values().num_elements() * 4;
  for (size_t n = 0; n < graph_.nodes().size(); ++n) {
    for (size_t p = 0; p < graph_.nodes()[n].parameters.size(); ++p) {
      const Tensor value = store->Value(int(n), int(p));
      EXPECT_EQ(value.shape(), graph_.nodes()[n].parameters[p].shape);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(value.raw_data()) % 64, 0u);
      EXPECT_GE(value.raw_data(), begin);
      EXPECT_LE(value.raw_data() + value.num_elements() * 4, end);
    }
  }
}

TEST_F(ParameterStoreTest, TheSeedDecidesTheValues) {
  auto first = *ParameterStore::Create(graph_, *device_, DType::kFloat32, 1);
  auto second = *ParameterStore::Create(graph_, *device_, DType::kFloat32, 1);
  auto other = *ParameterStore::Create(graph_, *device_, DType::kFloat32, 2);
  EXPECT_EQ(Values(first->all_values()), Values(second->all_values()));
  EXPECT_NE(Values(first->all_values()), Values(other->all_values()));
  // Two layers do not draw the same numbers, scaled to their limits.
  const auto drawn = [&](int node) {
    std::vector<double> values = Values(first->Value(node, 0));
    for (double& value : values) {
      value /= graph_.nodes()[size_t(node)].parameters[0].initializer.Limit();
    }
    return values;
  };
  const std::vector<double> conv = drawn(1), fc = drawn(3);
  int equal = 0;
  for (size_t i = 0; i < 50; ++i) equal += std::abs(conv[i] - fc[i]) < 1e-5;
  EXPECT_LE(equal, 1);
}

// By logical index: in, kh, kw, out of filters; height, width, channel of features.
TEST_F(ParameterStoreTest, BothFormatsBeginWithTheSameNetwork) {
  const auto network = [](TensorFormat format) {
    GraphBuilder b("both", format);
    b.Input({4, 5, 3}).Conv2d(2, {.kernel = 3, .padding = 1}).BatchNorm();
    b.Conv2d(6, {.kernel = 1}).Flatten().Fc(7).Fc(4);
    return *b.Build();
  };
  const Graph nhwc = network(TensorFormat::kNHWC), nchw = network(TensorFormat::kNCHW);
  auto first = *ParameterStore::Create(nhwc, *device_, DType::kFloat64, 3);
  auto second = *ParameterStore::Create(nchw, *device_, DType::kFloat64, 3);
  const auto compare = [&](int node, auto index_in_nhwc, auto index_in_nchw,
                           const std::array<int64_t, 4>& extents) {
    const double* a = first->Value(node, 0).data<double>();
    const double* b = second->Value(node, 0).data<double>();
    const auto [d0, d1, d2, d3] = extents;
    ASSERT_EQ(first->Value(node, 0).num_elements(), d0 * d1 * d2 * d3) << node;
    for (int64_t i = 0; i < d0; ++i) {
      for (int64_t j = 0; j < d1; ++j) {
        for (int64_t k = 0; k < d2; ++k) {
          for (int64_t l = 0; l < d3; ++l) {
            ASSERT_EQ(a[index_in_nhwc(i, j, k, l)], b[index_in_nchw(i, j, k, l)]) << node;
          }
        }
      }
    }
  };
  for (const auto& [node, in, side, out] : {std::tuple(1, int64_t{3}, int64_t{3}, int64_t{2}),
                                            std::tuple(3, int64_t{2}, int64_t{1}, int64_t{6})}) {
    compare(
        node,
        [&, s = side, o = out](int64_t i, int64_t h, int64_t w, int64_t k) {
          return ((i * s + h) * s + w) * o + k;
        },
        [&, s = side, n = in](int64_t i, int64_t h, int64_t w, int64_t k) {
          return ((k * n + i) * s + h) * s + w;
        },
        {in, side, side, out});
  }
  compare(
      5, [](int64_t h, int64_t w, int64_t c, int64_t k) { return ((h * 5 + w) * 6 + c) * 7 + k; },
      [](int64_t h, int64_t w, int64_t c, int64_t k) { return ((c * 4 + h) * 5 + w) * 7 + k; },
      {4, 5, 6, 7});
  EXPECT_EQ(Values(first->Value(6, 0)), Values(second->Value(6, 0)));
}

TEST_F(ParameterStoreTest, TrainingArenasBeginAtZero) {
  auto store = *ParameterStore::Create(graph_, *device_, DType::kFloat64, 1);
  EXPECT_FALSE(store->has_gradients());
  EXPECT_TRUE(store->gradients().empty());
  ASSERT_TRUE(store->AllocateForTraining(*device_, 2).ok());
  EXPECT_TRUE(store->has_gradients());
  ASSERT_EQ(store->slots().size(), 2u);
  for (const Tensor& arena : {store->gradients(), store->slots()[0], store->slots()[1]}) {
    EXPECT_EQ(arena.shape(), store->values().shape());
    for (double value : Values(arena)) EXPECT_EQ(value, 0);
  }
}

TEST_F(ParameterStoreTest, MemoryIsKnownBeforeItIsAllocated) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const ParameterMemory planned = ParameterStore::Measure(graph_, dtype);
    auto store = *ParameterStore::Create(graph_, *device_, dtype, 1);
    EXPECT_EQ(store->bytes(), planned.values);
    ASSERT_TRUE(store->AllocateForTraining(*device_, 2).ok());
    EXPECT_EQ(store->bytes(), planned.values + 3 * planned.gradients);
    EXPECT_EQ(size_t(store->gradients().num_elements()) * SizeOf(dtype), planned.gradients);
  }
}

TEST_F(ParameterStoreTest, VectorsAreTheBiasesWithTheirGaps) {
  auto store = *ParameterStore::Create(graph_, *device_, DType::kFloat32, 1);
  const int64_t conv = (3 * 3 * 3 * 5 + 15) / 16 * 16, fc = (2 * 2 * 5 * 7 + 15) / 16 * 16;
  EXPECT_EQ(store->vectors(),
            (std::vector<ArenaRange>{{conv, conv + 16}, {conv + 16 + fc, conv + 32 + fc}}));
  EXPECT_EQ(store->vectors().back().end, store->values().num_elements());
}

// On a GPU, the copies of NHWC filters are (out, kh, kw, in); all others are as the values.
TEST_F(ParameterStoreTest, CopiesHaveTheOrderThatTheDeviceComputesWith) {
  for (const Device device : {Device::Cpu(), Device::Simulated(0)}) {
    const auto context = *DeviceContext::Create(device);
    for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
      GraphBuilder b("kinds", format);
      b.Input({8, 8, 3}).Conv2d(5).Conv2d(0, {.grouping = ConvGrouping::kDepthwise});
      b.Conv2d(70, {.grouping = ConvGrouping::kPointwise}).BatchNorm();
      b.Flatten().Fc(7);
      const Graph graph = *b.Build();
      auto store = *ParameterStore::Create(graph, *context, DType::kFloat32, 1);
      ASSERT_EQ(store->KeepCopies(*context, DType::kBfloat16), absl::OkStatus());
      ASSERT_EQ(store->RenewCopies(), absl::OkStatus());
      int reordered = 0;
      for (int n = 0; n < int(graph.nodes().size()); ++n) {
        for (int p = 0; p < int(graph.nodes()[size_t(n)].parameters.size()); ++p) {
          const ParameterSpec& spec = graph.nodes()[size_t(n)].parameters[size_t(p)];
          std::vector<double> expected = Values(*ToHost(*context, store->Value(n, p)));
          for (double& value : expected) value = double(float(Bfloat16(float(value))));
          Shape shape = spec.shape;
          if (!device.is_cpu() && format == TensorFormat::kNHWC &&
              spec.layout == ParameterLayout::kFilter) {
            ++reordered;
            const int64_t in = shape[0], out = shape[shape.rank() - 1];
            const int64_t taps = shape.NumElements() / in / out;
            shape = shape.rank() == 2 ? Shape{out, in} : Shape{out, shape[1], shape[2], in};
            const std::vector<double> values = expected;
            for (int64_t i = 0; i < in; ++i)
              for (int64_t t = 0; t < taps; ++t)
                for (int64_t o = 0; o < out; ++o) {
                  expected[size_t((o * taps + t) * in + i)] =
                      values[size_t((i * taps + t) * out + o)];
                }
          }
          EXPECT_EQ(store->Copy(n, p).shape(), shape);
          EXPECT_EQ(Values(*ToHost(*context, store->Copy(n, p))), expected) << n << " " << p;
        }
      }
      EXPECT_EQ(reordered, !device.is_cpu() && format == TensorFormat::kNHWC ? 2 : 0);
    }
  }
}

TEST_F(ParameterStoreTest, WhatIsFrozenComesLastAndHasNoGradients) {
  GraphBuilder b("norms", TensorFormat::kNHWC);
  b.Input({4, 4, 3}).Conv2d(5).BatchNorm().Conv2d(5, {.kernel = 1}).BatchNorm().Flatten().Fc(7);
  const Graph graph = *b.Build();
  const int frozen[] = {1, 2};
  const auto whole = *ParameterStore::Create(graph, *device_, DType::kFloat32, 1);
  const auto store = *ParameterStore::Create(graph.Frozen(frozen), *device_, DType::kFloat32, 1);
  EXPECT_EQ(store->all_values().shape(), whole->all_values().shape());
  EXPECT_EQ(whole->unfrozen().shape(), whole->all_values().shape());
  const int64_t unfrozen = store->unfrozen().num_elements();
  EXPECT_EQ(store->values().num_elements() + store->statistics().num_elements(), unfrozen);
  EXPECT_EQ(store->statistics().num_elements(), 2 * 16) << "of one normalisation";
  for (int n = 0; n < int(graph.nodes().size()); ++n) {
    for (int p = 0; p < int(graph.nodes()[size_t(n)].parameters.size()); ++p) {
      EXPECT_EQ(store->Offset(n, p) >= unfrozen, n == 1 || n == 2);
      EXPECT_EQ(Values(store->Value(n, p)), Values(whole->Value(n, p)));
    }
  }
  ASSERT_TRUE(store->AllocateForTraining(*device_, 1).ok());
  EXPECT_EQ(store->gradients().shape(), store->values().shape());
  EXPECT_EQ(store->vectors().back().end, store->values().num_elements());
}

}  // namespace
}  // namespace dtnn
