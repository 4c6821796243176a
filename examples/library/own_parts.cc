// Your own data set, layer, callback and observer in a run: the programs of docs/library.md.
//
//   bazel run //examples/library:own_parts        (installed: CMakeLists.txt builds it)

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "data/dataset.h"
#include "layers/base/layer.h"
#include "models/run/run.h"
#include "models/training/callback.h"
#include "models/training/trainer.h"
#include "tensor/must.h"
#include "tensor/trace/observer.h"

namespace dtnn {
namespace {

// [data]
// Points of the plane; the class is 1 where they lie within the circle of radius 0.8.
class Circle : public Dataset {
 public:
  std::string_view name() const override { return "circle"; }
  ImageExtents sample() const override { return {.height = 1, .width = 1, .channels = 2}; }
  int64_t outputs() const override { return 2; }
  int64_t size(Split split) const override { return split == Split::kTrain ? 4000 : 1000; }

  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                    const Tensor& x, const Tensor& targets) const override {
    absl::Status fits = CheckRead(*this, split, indices, format, x, targets);
    if (!fits.ok()) return fits;
    for (size_t row = 0; row < indices.size(); ++row) {
      const int64_t i = indices[row] + (split == Split::kTrain ? 0 : 4000);
      const double a = double(i * 7919 % 10007) / 5003.5 - 1,
                   b = double(i * 104729 % 10009) / 5004.5 - 1;
      DispatchFloating(x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        x.data<T>()[2 * row] = T(a);
        x.data<T>()[2 * row + 1] = T(b);
      });
      targets.data<int32_t>()[row] = a * a + b * b < 0.64 ? 1 : 0;
    }
    return absl::OkStatus();
  }
};
// [/data]

// [layer]
// y = x * x, of vectors.
class SquareOp : public LayerOp {
 public:
  LayerOpTraits traits() const override { return {.backward_reads_input = true}; }
  absl::Status Forward(const ForwardArgs& args) override {
    const float* x = args.inputs[0].data<float>();
    float* y = args.output.data<float>();
    for (int64_t i = 0; i < args.output.num_elements(); ++i) y[i] = x[i] * x[i];
    return absl::OkStatus();
  }
  absl::Status Backward(const BackwardArgs& args) override {
    if (args.dx[0].empty()) return absl::OkStatus();  // nobody below wants it
    const float *x = args.inputs[0].data<float>(), *dy = args.dy.data<float>();
    float* dx = args.dx[0].data<float>();
    for (int64_t i = 0; i < args.dy.num_elements(); ++i) {
      dx[i] = (args.accumulate[0] ? dx[i] : 0) + 2 * x[i] * dy[i];
    }
    return absl::OkStatus();
  }
};

class Square : public Layer {
 public:
  std::string_view type_name() const override { return "Square"; }
  absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs, TensorFormat) const override {
    if (inputs.size() == 1 && inputs[0].rank() == 1) return inputs[0];
    return absl::InvalidArgumentError("expects one vector");
  }
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override {
    if (context.dtype == DType::kFloat32) return std::make_unique<SquareOp>();
    return absl::UnimplementedError("computes in float32 only");
  }
};
// [/layer]

// [callback]
// Ends training after the first epoch that is good enough.
class StopAt : public Callback {
 public:
  explicit StopAt(double accuracy) : accuracy_(accuracy) {}
  absl::Status OnEpochEnd(const Pass& training, const Pass*) override {
    const double accuracy = (*training.averages)["categorical_accuracy"];
    std::printf("epoch %d: %.1f %%\n", int(training.epoch) + 1, accuracy);
    if (accuracy >= accuracy_) training.trainer->Stop();
    return absl::OkStatus();
  }

 private:
  const double accuracy_;
};
// [/callback]

// [observer]
// Finds the layer that takes longest, all passes together.
class SlowestLayer : public Observer {
 public:
  explicit SlowestLayer(const Graph& graph) : graph_(graph) {
    for (const Node& node : graph.nodes()) nanoseconds_[node.id] = 0;  // nothing is allocated later
  }
  // The thread that trains reports the passes of layers, so there is no lock.
  void End(const Event& event) override {
    if (event.layer >= 0) nanoseconds_[event.layer] += event.end - event.begin;
  }
  const std::string& name() const {
    const auto time = [this](const Node& node) { return nanoseconds_.at(node.id); };
    return std::ranges::max_element(graph_.nodes(), {}, time)->name;
  }

 private:
  const Graph& graph_;
  std::map<int, int64_t> nanoseconds_;
};
// [/observer]

int Main() {
  // [use]
  const Circle data;
  Network net("circle");
  net.Input(data).Flatten().Append(std::make_shared<Square>()).Fc(2).Softmax();
  StopAt good_enough(95);
  auto run = Must(Run::Create({.training = {.epochs = 50}, .optimizer = {.learning_rate = 0.5}},
                              {.network = net, .dataset = data, .callbacks = {&good_enough}}));
  SlowestLayer slowest(run->graph());
  {
    const ScopedObserver watching(&slowest);
    Must(run->Fit());
  }
  const double accuracy = Must(run->Evaluate())["categorical_accuracy"];
  // [/use]
  std::printf("test accuracy %.1f %% after %d epochs; most time went to %s\n", accuracy,
              int(run->trainer().epochs_done()), slowest.name().c_str());
  return accuracy > 90 && run->trainer().epochs_done() < 50 ? 0 : 1;
}

}  // namespace
}  // namespace dtnn

int main() { return dtnn::Main(); }
