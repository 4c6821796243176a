// Concatenations whose inputs are written in place: the same numbers as copies of them, bit for
// bit.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "layers/image_fc.h"
#include "layers/merging/concatenation.h"
#include "models/graph/builder.h"
#include "models/parameters/parameter_store.h"
#include "models/plan/plan.h"
#include "models/testing/gradient_check.h"
#include "models/testing/plan_session.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckNetworkGradients;
using ::dtnn::testing::Labels;
using ::dtnn::testing::PlanSession;
using ::dtnn::testing::RandomTensor;
using ::dtnn::testing::Values;
using Path = GraphBuilder::Path;

// Keeps to itself that its inputs may be views of its output.
class CopyingOp : public LayerOp {
 public:
  explicit CopyingOp(std::unique_ptr<LayerOp> op) : op_(std::move(op)) {}
  LayerOpTraits traits() const override { return {}; }
  absl::Status Forward(const ForwardArgs& args) override { return op_->Forward(args); }
  absl::Status Backward(const BackwardArgs& args) override { return op_->Backward(args); }

 private:
  std::unique_ptr<LayerOp> op_;
};

class CopyingConcatenation : public ConcatenationLayer {
 public:
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override {
    auto op = ConcatenationLayer::Bind(context);
    if (!op.ok()) return op;
    return std::make_unique<CopyingOp>(*std::move(op));
  }
};

// Builds with concatenations of one kind or the other.
struct Blocks {
  bool copying = false;
  GraphBuilder& Concat(GraphBuilder& b, const std::vector<Path>& paths) const {
    if (!copying) return b.Concat(paths);
    return b.Append(std::make_shared<CopyingConcatenation>(), paths);
  }
};

Path Same() { return GraphBuilder::Identity(); }
Path Tanh() {
  return [](GraphBuilder& p) { p.Tanh(); };
}
Path Conv(int64_t filters, int64_t kernel) {
  return [=](GraphBuilder& p) { p.Conv2d(filters, {.kernel = kernel, .padding = kernel / 2}); };
}

void End(GraphBuilder& b) { b.Flatten().Fc(4).Softmax(); }

// New features first, then the old ones; twice, with a transition.
void Densenet(const Blocks& blocks, GraphBuilder& b) {
  const Path grow = [](GraphBuilder& p) {
    p.Tanh().Conv2d(4, {.kernel = 1}).Relu().Conv2d(2, {.padding = 1, .bias = false});
  };
  b.Conv2d(3, {.padding = 1});
  for (int i = 0; i < 3; ++i) blocks.Concat(b, {grow, Same()});
  b.Relu().Conv2d(3, {.kernel = 1}).AveragePool2d({.stride = 2});
  for (int i = 0; i < 2; ++i) blocks.Concat(b, {grow, Same()});
  b.Tanh().AveragePool2d({.window = 3});
  End(b);
}

void Googlenet(const Blocks& blocks, GraphBuilder& b) {
  b.Conv2d(3, {.padding = 1}).Relu();
  for (int i = 0; i < 2; ++i) {
    blocks.Concat(b, {[](GraphBuilder& p) { p.Conv2d(2, {.kernel = 1}).Relu(); },
                      [](GraphBuilder& p) { p.Conv2d(2, {.kernel = 1}).Conv2d(3, {.padding = 1}); },
                      [](GraphBuilder& p) {
                        p.MaxPool2d({.window = 3, .padding = 1}).Conv2d(1, {.kernel = 1}).Sigmoid();
                      },
                      [](GraphBuilder& p) { p.AveragePool2d({.window = 3, .padding = 1}); }});
    if (i == 0) b.MaxPool2d({.stride = 2});
  }
  End(b);
}

// Blocks of concatenations, of additions, of values that stand there twice, of the batch.
void Nested(const Blocks& blocks, GraphBuilder& b) {
  const Path inner = [&](GraphBuilder& p) { blocks.Concat(p, {Conv(1, 3), Same(), Tanh()}); };
  blocks.Concat(b, {Same(), Conv(2, 3)});
  b.Conv2d(2, {.kernel = 1});
  blocks.Concat(b, {inner, Same(), inner, Same()});
  blocks.Concat(b, {[](GraphBuilder& p) { p.Add({Same(), Tanh(), Conv(14, 1)}); }, Same()});
  b.Tanh();
  End(b);
}

void Dropouts(const Blocks& blocks, GraphBuilder& b) {
  b.Conv2d(3, {.padding = 1});
  blocks.Concat(b,
                {[](GraphBuilder& p) { p.Dropout(0.3); },
                 [](GraphBuilder& p) { p.Conv2d(2, {.kernel = 1}).Tanh().Dropout(0.4); }, Same()});
  blocks.Concat(b, {Same(), [](GraphBuilder& p) { p.Dropout(0.5).Conv2d(2, {.kernel = 1}); }});
  b.Dropout(0.2);
  End(b);
}

// One value read by two concatenations, in paths that end in different layers.
void Shared(const Blocks& blocks, GraphBuilder& b) {
  const Path join = [&](GraphBuilder& p) { blocks.Concat(p, {Conv(2, 3), Same()}); };
  const Path flat = [](GraphBuilder& p) { p.Flatten().Fc(4); };
  b.Conv2d(3, {.kernel = 1}).Add({join, join, [&](GraphBuilder& p) { join(p), p.Tanh(); }});
  b.Add({flat, [&](GraphBuilder& p) { join(p), flat(p); }}).Softmax();
}

// Pixels as tokens, whose ops require dense memory; before, between and after what works in place.
void Tokens(const Blocks& blocks, GraphBuilder& b) {
  const Path row = [](GraphBuilder& p) { p.Tanh().PixelSlice(0, 36); };
  blocks.Concat(b, {[](GraphBuilder& p) { p.Conv2d(3, {.kernel = 1}).PositionEmbedding(); }, Same(),
                    [](GraphBuilder& p) { p.PositionEmbedding().Tanh(); }});
  blocks.Concat(b,
                {row, [&](GraphBuilder& p) { row(p), p.ClassToken().Tanh().PixelSlice(0, 36); }});
  b.ClassToken().PositionEmbedding();
  blocks.Concat(b, {Same(), [](GraphBuilder& p) { p.Conv2d(2, {.kernel = 1}); }});
  b.PixelSlice(0, 30);
  End(b);
}

// A fully connected layer of an image, whose op requires dense memory, beside its place in another.
void Vectors(const Blocks& blocks, GraphBuilder& b) {
  b.Conv2d(3, {.kernel = 1});
  b.Add({[&](GraphBuilder& p) {
           blocks.Concat(p, {Same(), Conv(2, 1)}).Flatten().Fc(4);
         },
         [](GraphBuilder& p) { p.Append(std::make_shared<ImageFcLayer>(4)); }});
  b.Softmax();
}

using Build = void (*)(const Blocks&, GraphBuilder&);
struct Case {
  std::string name;
  Build build;
};

class PlanConcatenationTest : public ::testing::TestWithParam<std::tuple<Case, TensorFormat>> {
 protected:
  static TensorFormat format() { return std::get<1>(GetParam()); }
  static Graph Make(bool copying) {
    GraphBuilder b(std::get<0>(GetParam()).name, format());
    b.Input({6, 6, 2});
    std::get<0>(GetParam()).build({copying}, b);
    return *b.Build();
  }
  static Tensor Batch(int64_t n, DType dtype, uint64_t seed = 5) {
    return RandomTensor(dtype, SampleShape({6, 6, 2}, format()).Prepend(n), seed);
  }
};
INSTANTIATE_TEST_SUITE_P(
    Graphs, PlanConcatenationTest,
    ::testing::Combine(::testing::Values(Case{"Densenet", Densenet}, Case{"Googlenet", Googlenet},
                                         Case{"Nested", Nested}, Case{"Dropouts", Dropouts},
                                         Case{"Shared", Shared}, Case{"Tokens", Tokens},
                                         Case{"Vectors", Vectors}),
                       ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW)),
    [](const auto& info) {
      return std::get<0>(info.param).name + std::string(Name(std::get<1>(info.param)));
    });

TEST_P(PlanConcatenationTest, GradientsOfAWholeNetwork) {
  EXPECT_TRUE(CheckNetworkGradients(Make(/*copying=*/false)));
}

TEST_P(PlanConcatenationTest, SameBitsAsCopies) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    PlanSession joined(Make(false), 5, dtype), copied(Make(true), 5, dtype);
    const auto joined_evaluation = joined.Compile(5, false);
    const auto copied_evaluation = copied.Compile(5, false);
    for (int64_t n : {5, 3, 5}) {  // the smaller batch of an epoch's end
      const Tensor x = Batch(n, dtype, uint64_t(n)), labels = Labels(n);
      ASSERT_TRUE(joined.plan->ForwardBackward(x, labels, 1, n).ok());
      ASSERT_TRUE(copied.plan->ForwardBackward(x, labels, 1, n).ok());
      EXPECT_EQ(Values(joined.plan->predictions()), Values(copied.plan->predictions()));
      EXPECT_EQ(Values(joined.store->gradients()), Values(copied.store->gradients()));
      ASSERT_TRUE(joined_evaluation->Evaluate(x, labels).ok());
      ASSERT_TRUE(copied_evaluation->Evaluate(x, labels).ok());
      EXPECT_EQ(Values(joined_evaluation->predictions()), Values(copied_evaluation->predictions()));
      EXPECT_EQ(joined_evaluation->LossSum(), copied_evaluation->LossSum());
    }
  }
}

TEST_P(PlanConcatenationTest, SameBitsOnAnyNumberOfThreads) {
  std::vector<double> first;
  for (int threads : {1, 2, 4}) {
    SetNumThreads(threads);
    PlanSession run(Make(false), 7, DType::kFloat32);
    ASSERT_TRUE(run.plan->ForwardBackward(Batch(7, DType::kFloat32), Labels(7), 1, 3).ok());
    const std::vector<double> gradients = Values(run.store->gradients());
    if (first.empty()) first = gradients;
    EXPECT_EQ(gradients, first) << threads << " threads";
  }
}

// Every layer of a dense block adds its own channels to what is kept, not all before it once more.
TEST(PlanConcatenationMemoryTest, ADenseBlockGrowsByWhatIsNew) {
  const auto memory = [](bool copying, int layers, bool training) {
    const Blocks blocks = {copying};
    GraphBuilder b("dense", TensorFormat::kNHWC);
    b.Input({8, 8, 2}).Conv2d(4, {.padding = 1});
    for (int i = 0; i < layers; ++i) blocks.Concat(b, {Conv(2, 3), Same()});
    b.AveragePool2d({.window = 8}).Flatten().Fc(4).Softmax();
    return PlanSession(*b.Build(), 16, DType::kFloat32, training).plan->memory().arena;
  };
  for (bool training : {false, true}) {
    const size_t layer = 16 * 8 * 8 * 2 * 4 * (training ? 2 : 1);  // and its gradients
    EXPECT_LT(memory(false, 20, training) - memory(false, 10, training), 11 * layer);
    EXPECT_GT(memory(true, 20, training) - memory(true, 10, training), 19 * layer);
  }
  EXPECT_GT(memory(true, 20, true), 5 * memory(false, 20, true));
}

}  // namespace
}  // namespace dtnn
