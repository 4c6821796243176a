// What a plan says, during a backward pass, about the gradients that are final.

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/testing/plan_session.h"
#include "models/zoo/zoo.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Labels;
using ::dtnn::testing::PlanSession;
using ::dtnn::testing::RandomTensor;
using ::testing::ElementsAreArray;

// The first element of the gradients of every node that has some, from the end.
std::vector<int64_t> NodesFromTheEnd(const PlanSession& session) {
  std::vector<int64_t> offsets;
  const std::vector<Node>& nodes = session.graph.nodes();
  for (size_t n = nodes.size(); n-- > 0;) {
    for (size_t p = 0; p < nodes[n].parameters.size(); ++p) {
      if (!nodes[n].parameters[p].trainable) continue;
      offsets.push_back(session.store->Offset(int(n), int(p)));
      break;
    }
  }
  return offsets;
}

class GradientsReadyTest : public ::testing::TestWithParam<const char*> {};
// A chain; residual paths with normalisation; dense blocks; paths side by side; depthwise.
INSTANTIATE_TEST_SUITE_P(Models, GradientsReadyTest,
                         ::testing::Values("simplecnn8", "resnet20_cifar10", "densenet_cifar10",
                                           "googlenet_cifar10", "mobilenetv1_cifar10"));

TEST_P(GradientsReadyTest, ComeNodeByNodeAndDoNotChangeAnyMore) {
  PlanSession session(*BuildModel(GetParam(), {}), 2, DType::kFloat32);
  const Tensor gradients = session.store->gradients();
  const Tensor x = RandomTensor(DType::kFloat32, session.graph.input_shape().Prepend(2), 7);
  std::vector<int64_t> calls;
  const size_t bytes = size_t(gradients.num_elements()) * sizeof(float);
  std::memset(gradients.raw_data(), 0xff, bytes);
  std::string before(bytes, '\xff');  // every tail as it was when it was said to be final
  int64_t end = gradients.num_elements();
  ASSERT_TRUE(session.plan
                  ->ForwardBackward(x, Labels(2), 0.5, 0,
                                    [&](int64_t from) {
                                      calls.push_back(from);
                                      std::memcpy(before.data() + from * 4,
                                                  gradients.data<float>() + from,
                                                  size_t(end - from) * sizeof(float));
                                      end = from;
                                    })
                  .ok());
  EXPECT_THAT(calls, ElementsAreArray(NodesFromTheEnd(session)));
  EXPECT_EQ(calls.back(), 0);
  EXPECT_EQ(std::memcmp(before.data(), gradients.raw_data(), bytes), 0);
  // Something was written at all: NaN is what stood there.
  for (const int64_t from : calls) EXPECT_FALSE(std::isnan(gradients.data<float>()[from])) << from;
}

}  // namespace
}  // namespace dtnn
