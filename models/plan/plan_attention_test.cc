// Plans of attention: what PyTorch's modules answer for the same parameters.

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/testing/plan_session.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Close;
using ::dtnn::testing::PlanSession;
using ::dtnn::testing::TensorOf;
using ::dtnn::testing::Values;
using Doubles = std::vector<double>;

constexpr int64_t kBatch = 2, kHeight = 2, kWidth = 3, kChannels = 4;

// Element i of the p-th array of a test.
double Counted(int64_t i, int64_t p) { return double((i * 37 + 11 * p) % 101) / 50 - 1; }

class PlanAttentionTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  static Graph Network(const SelfAttentionOptions& options) {
    GraphBuilder b("attention", GetParam());
    b.Input({kHeight, kWidth, kChannels}).SelfAttention(options).Flatten();
    return *b.Build();
  }
  // The p-th convolution gets the p-th arrays of weights and of biases, in the order (out, in) of
  // PyTorch: queries, keys, values, projection, whose weights are multiplied by `factor`.
  static void Fill(PlanSession& run, double factor) {
    int64_t p = 0;
    for (size_t node = 0; node < run.graph.nodes().size(); ++node) {
      if (run.graph.nodes()[node].layer->type_name() != "Conv2D") continue;
      const Tensor weights = run.store->Value(int(node), 0);
      const Shape& shape = weights.shape();
      const bool last = GetParam() == TensorFormat::kNHWC;  // (in, 1, 1, out)
      const int64_t out = shape[last ? 3 : 0], in = shape[last ? 0 : 1];
      for (int64_t o = 0; o < out; ++o) {
        for (int64_t i = 0; i < in; ++i) {
          weights.data<double>()[last ? i * out + o : o * in + i] =
              Counted(o * in + i, p) * (p == 3 ? factor : 1);
        }
      }
      if (run.graph.nodes()[node].parameters.size() > 1) {
        const Tensor biases = run.store->Value(int(node), 1);
        for (int64_t o = 0; o < out; ++o) biases.data<double>()[o] = Counted(o, 4 + p);
      }
      ++p;
    }
    run.store->MarkChanged();
  }
  static Tensor Batch() {
    Doubles values;
    const ImageExtents image = {kHeight, kWidth, kChannels};
    const int64_t pixels = kHeight * kWidth;
    for (int64_t i = 0; i < kBatch * pixels * kChannels; ++i) {
      const int64_t sample = i / (pixels * kChannels), rest = i % (pixels * kChannels);
      values.push_back(
          GetParam() == TensorFormat::kNHWC
              ? Counted(i, 9)
              : Counted((sample * pixels + rest % pixels) * kChannels + rest / pixels, 9));
    }
    return TensorOf(DType::kFloat64, SampleShape(image, GetParam()).Prepend(kBatch), values);
  }
  // As (n, pixels, channels).
  static Doubles Answer(const SelfAttentionOptions& options, double factor) {
    PlanSession run(Network(options), kBatch, DType::kFloat64, /*training=*/false);
    Fill(run, factor);
    EXPECT_EQ(run.plan->Forward(Batch()), absl::OkStatus());
    const Doubles answer = Values(run.plan->predictions());
    if (GetParam() == TensorFormat::kNHWC) return answer;
    Doubles turned;
    constexpr int64_t kPixels = kHeight * kWidth;
    for (int64_t i = 0; i < int64_t(answer.size()); ++i) {
      const int64_t sample = i / (kPixels * kChannels), rest = i % (kPixels * kChannels);
      turned.push_back(
          answer[size_t((sample * kChannels + rest % kChannels) * kPixels + rest / kChannels)]);
    }
    return turned;
  }
};
INSTANTIATE_TEST_SUITE_P(, PlanAttentionTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                         [](const auto& info) { return std::string(Name(info.param)); });

// torch.nn.MultiheadAttention(4, 2, batch_first=True) of the pixels, added to them (PyTorch 2.15).
TEST_P(PlanAttentionTest, IsPyTorchsMultiheadAttention) {
  EXPECT_TRUE(Close(
      Answer({.heads = 2}, 1),
      {1.432925,  -0.164487,  -0.2635989, 0.9090028, 0.4992669,  1.241303, -1.78046,   2.32601,
       1.283128,  -0.2732289, -0.4238752, 0.7984898, 0.3495619,  1.1223,   -1.928718,  2.205804,
       1.360706,  -0.4277137, -0.7164516, 2.668347,  0.2002937,  1.002493, -2.076781,  2.084603,
       1.423714,  -1.479869,  -0.3065213, 1.526448,  -0.6523903, 1.175427, -0.3522454, 2.161726,
       1.199362,  -1.489282,  -0.5113577, 1.515705,  -0.8648272, 1.145329, -0.545078,  2.130285,
       0.9595197, -1.472051,  -0.7314876, 1.531599,  -1.063774,  1.091749, -0.7242407, 2.075342},
      1e-6));
}

// The block of "Self-Attention Generative Adversarial Networks" in PyTorch: keys of two channels,
// values of three, no biases, scores that are not divided, and gamma = 0.5.
TEST_P(PlanAttentionTest, IsTheBlockOfSagan) {
  EXPECT_TRUE(
      Close(Answer({.key_channels = 2, .value_channels = 3, .factor = 1, .bias = false}, 0.5),
            {1.150157,   -0.1619638, 0.5459157,  -0.7662049, 0.1322025,  0.77671,     -0.5987826,
             0.04572487, 0.9860506,  -0.3223183, 0.3893129,  -0.9190559, -0.02054171, 0.6250541,
             -0.74935,   -0.1037542, 1.020175,   -0.3114412, 0.3769429,  1.065327,    -0.1730236,
             0.4740515,  -0.8988735, -0.2517984, 1.069584,   -0.2002105, 0.5499953,   1.300201,
             -1.348704,  -0.4320905, 0.4845227,  -0.6188642, 0.833042,   -0.4247339,  0.3374903,
             1.099714,   -1.533563,  -0.6113464, 0.3108699,  -0.7869138, 0.5633234,   -0.6783164,
             0.1000439,  0.8784041,  -1.703225,  -0.7772919, 0.1486412,  -0.9454257},
            1e-6));
}

TEST_P(PlanAttentionTest, SaysWhatItRefuses) {
  const auto error = [](const SelfAttentionOptions& options, bool flat) {
    GraphBuilder b("attention", GetParam());
    b.Input({kHeight, kWidth, kChannels});
    if (flat) b.Flatten();
    return std::string(b.SelfAttention(options).Build().status().message());
  };
  EXPECT_NE(error({}, true).find("takes images of the same channels"), std::string::npos);
  EXPECT_NE(error({.heads = 3}, false).find("which 3 heads divide evenly"), std::string::npos);
  EXPECT_NE(error({.heads = 0}, false).find("which 0 heads divide evenly"), std::string::npos);
  EXPECT_NE(error({.key_channels = -1}, false).find("Conv2D"), std::string::npos);
}

}  // namespace
}  // namespace dtnn
