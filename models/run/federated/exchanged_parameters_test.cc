#include "models/run/federated/exchanged_parameters.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/device/context.h"
#include "models/graph/builder.h"
#include "models/run/federated/local_parameters.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Values = std::vector<float>;

class ExchangedParametersTest : public ::testing::Test {
 protected:
  static Graph Net() {
    GraphBuilder b("net", TensorFormat::kNHWC);
    b.Input({4, 4, 1}).Conv2d(3).BatchNorm().Relu().Flatten().Fc(2).Softmax();
    return *b.Build();
  }

  ExchangedParametersTest() {
    const Tensor all = store_->unfrozen();
    std::iota(all.data<float>(), all.data<float>() + all.num_elements(), 1.0f);
  }

  ExchangedParameters Make(std::string_view local) {
    return Must(ExchangedParameters::Create(graph_, *store_, local));
  }
  std::string Refusal(std::string_view local) {
    return std::string(ExchangedParameters::Create(graph_, *store_, local).status().message());
  }
  Values Sent(const ExchangedParameters& parameters) {
    Values sent(parameters.values());
    parameters.Get(*store_, sent);
    return sent;
  }
  Values Kept(const ExchangedParameters& parameters) {
    Values kept(parameters.local_values());
    parameters.GetLocal(*store_, kept);
    return kept;
  }
  // The numbers of all parameters whose key has this text.
  std::set<float> NumbersOf(const std::string& text) {
    std::set<float> numbers;
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      const Node& node = graph_.nodes()[n];
      for (size_t p = 0; p < node.parameters.size(); ++p) {
        if (Graph::WeightKey(node, node.parameters[p]).find(text) == std::string::npos) continue;
        const Tensor value = store_->Value(int(n), int(p));
        numbers.insert(value.data<float>(), value.data<float>() + value.num_elements());
      }
    }
    return numbers;
  }

  const Graph graph_ = Net();
  const std::unique_ptr<DeviceContext> context_ = Must(DeviceContext::Create(Device::Cpu()));
  const std::unique_ptr<ParameterStore> store_ =
      Must(ParameterStore::Create(graph_, *context_, DType::kFloat32, 1));
};

TEST_F(ExchangedParametersTest, AllOfThemWithoutAPattern) {
  const ExchangedParameters all = Make("");
  const Tensor unfrozen = store_->unfrozen();
  EXPECT_EQ(all.values(), size_t(unfrozen.num_elements()));
  EXPECT_EQ(all.trainable(), size_t(store_->values().num_elements()));
  EXPECT_EQ(all.local_values(), 0u);
  EXPECT_EQ(Sent(all),
            Values(unfrozen.data<float>(), unfrozen.data<float>() + unfrozen.num_elements()));
}

TEST_F(ExchangedParametersTest, LocalOnesAreNotSentAndNotReceived) {
  for (const std::string name : {"BatchNormalization", "_FC_", "_gamma", "_biases"}) {
    const ExchangedParameters parameters = Make("*" + name + "*");
    const std::set<float> local = NumbersOf(name);
    ASSERT_FALSE(local.empty()) << name;
    const Values sent = Sent(parameters), kept = Kept(parameters);
    for (const float x : sent) EXPECT_FALSE(local.contains(x)) << name << ": " << x;
    for (const float x : local) EXPECT_EQ(std::ranges::count(kept, x), 1) << name << ": " << x;
    EXPECT_EQ(sent.size() + kept.size(), size_t(store_->unfrozen().num_elements()));
    // What is received replaces all but them.
    parameters.Set(Values(sent.size(), -7), *store_);
    EXPECT_EQ(Kept(parameters), kept) << name;
    EXPECT_THAT(Sent(parameters), Each(-7)) << name;
    parameters.SetLocal(Values(kept.size(), -5), *store_);
    EXPECT_THAT(Sent(parameters), Each(-7)) << name;
    EXPECT_THAT(Kept(parameters), Each(-5)) << name;
    parameters.SetLocal(kept, *store_);
    parameters.Set(sent, *store_);
  }
}

// Running statistics come after the trainable numbers: the aggregator averages them.
TEST_F(ExchangedParametersTest, TrainableOnesComeFirst) {
  const auto trainable = size_t(store_->values().num_elements());
  const ExchangedParameters statistics = Make("*_running_var,*_running_mean");
  EXPECT_EQ(statistics.trainable(), trainable);
  EXPECT_EQ(statistics.values(), trainable) << "and nothing else";
  const ExchangedParameters all = Make("*BatchNormalization*");
  EXPECT_LE(all.trainable(), trainable - 6) << "without gamma and beta of 3 channels";
  EXPECT_EQ(all.values(), all.trainable());
  for (const float x : Values(Sent(all))) EXPECT_GT(x, 0);
  EXPECT_LE(Sent(all)[all.trainable() - 1], float(trainable));
}

TEST_F(ExchangedParametersTest, PatternsThatOverlapCountOnce) {
  EXPECT_EQ(Make("*BatchNormalization*,*_gamma").local_values(),
            Make("*BatchNormalization*").local_values());
}

TEST_F(ExchangedParametersTest, TheTextSaysWhichOnesStay) {
  EXPECT_EQ(Make("").LocalText(), "");
  EXPECT_EQ(Make("*BatchNormalization*,*_gamma").LocalText(),
            Make("*_beta,*_running_*,*_gamma").LocalText());
  EXPECT_NE(Make("*_gamma").LocalText(), Make("*_beta").LocalText()) << "as many numbers";
}

TEST_F(ExchangedParametersTest, AViewIsACopyWhereSomeStay) {
  Values buffer;
  EXPECT_EQ(Make("").View(*store_, buffer).data(), store_->unfrozen().data<float>());
  EXPECT_TRUE(buffer.empty());
  const ExchangedParameters parameters = Make("*_FC_*");
  const std::span<const float> view = parameters.View(*store_, buffer);
  EXPECT_EQ(Values(view.begin(), view.end()), Sent(parameters));
}

TEST_F(ExchangedParametersTest, PatternsThatMakeNoSenseAreRefused) {
  EXPECT_THAT(Refusal("*Dropout*"),
              HasSubstr("\"*Dropout*\" matches no parameter of model net that training changes"));
  EXPECT_THAT(Refusal("*_FC_*,nothing"), HasSubstr("\"nothing\" matches no parameter"));
  EXPECT_EQ(Refusal(", ,"), "\", ,\" contains no pattern");
  EXPECT_THAT(Refusal("*"), HasSubstr("leaves no trainable parameter of model net to exchange"));
}

TEST(LocalParametersTest, OnlyAttemptsThatCountAreKept) {
  LocalParameters local(2, {1, 2});
  const auto begin = [&](int client) {
    const std::span<const float> own = local.Begin(client);
    return Values(own.begin(), own.end());
  };
  EXPECT_THAT(begin(0), ElementsAre(1, 2));
  local.Keep(0, {3, 4});
  EXPECT_THAT(begin(0), ElementsAre(1, 2)) << "another attempt at the round, or the next one";
  local.Keep(0, {5, 6});
  local.Accept(0);
  EXPECT_THAT(begin(0), ElementsAre(5, 6));
  local.Keep(0, {7, 8});
  EXPECT_THAT(begin(0), ElementsAre(5, 6)) << "the round failed";
  EXPECT_THAT(begin(1), ElementsAre(1, 2)) << "another client";
}

}  // namespace
}  // namespace dtnn
