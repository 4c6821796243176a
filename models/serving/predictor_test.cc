#include "models/serving/predictor.h"

#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "optim/losses/binary_cross_entropy.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Values;

Graph Net(TensorFormat format, bool softmax = true) {
  GraphBuilder b("net", format);
  b.Input({6, 6, 3}).Conv2d(8, {.padding = 1}).BatchNorm().Relu().MaxPool2d({.stride = 2});
  b.Flatten().Dropout(0.5).Fc(4);
  return softmax ? *b.Softmax().Build() : *b.Sigmoid().Build();
}

class PredictorTest : public ::testing::Test {
 protected:
  // A file of the model with parameters that training has moved.
  std::string Saved(const SavedModel& model, const std::string& name) {
    store_ = *ParameterStore::Create(model.graph, *device_, model.dtype, 3);
    const Tensor& values = store_->all_values();
    const std::vector<double> noise =
        Values(testing::RandomTensor(DType::kFloat64, values.shape(), 9));
    DispatchFloating(model.dtype, [&](auto zero) {
      using T = decltype(zero);
      for (size_t i = 0; i < noise.size(); ++i) values.data<T>()[i] += T(0.3 + 0.2 * noise[i]);
    });
    const std::string path = folder_ + "/" + name;
    const absl::Status status = SaveModel(path, model, *store_, *device_);
    EXPECT_TRUE(status.ok()) << status;
    return path;
  }

  std::string folder_ = testing::NewFolder("predictor");
  std::unique_ptr<DeviceContext> device_ = *DeviceContext::Create(Device::Cpu());
  std::unique_ptr<ParameterStore> store_;
};

// With the loss, which computes the last layer itself, and batches of another size.
TEST_F(PredictorTest, GivesWhatTrainingsEvaluationGives) {
  const CategoricalCrossEntropy softmax;
  const BinaryCrossEntropy sigmoid;
  for (const bool ends_in_softmax : {true, false}) {
    for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
      for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
        const Graph graph = Net(format, ends_in_softmax);
        const std::string path = Saved({.graph = graph, .dtype = dtype}, "m.safetensors");
        const Tensor x = testing::RandomTensor(dtype, graph.input_shape().Prepend(7), 5);
        const Loss* loss = &softmax;
        Tensor targets = testing::TensorOf(DType::kInt32, Shape{7}, {0, 1, 2, 3, 0, 1, 2});
        if (!ends_in_softmax) {
          loss = &sigmoid;
          targets = testing::ZeroTensor(dtype, Shape{7, 4});
        }
        auto plan = *Plan::Compile(graph, *store_, *device_, {.batch = 7, .loss = loss});
        ASSERT_TRUE(plan->Evaluate(x, targets).ok());
        const auto predictor = Predictor::Load(path, {.batch = 3});
        ASSERT_TRUE(predictor.ok()) << predictor.status();
        const absl::StatusOr<Tensor> outputs = (*predictor)->Predict(x);
        ASSERT_TRUE(outputs.ok()) << outputs.status();
        EXPECT_EQ(Values(*outputs), Values(plan->predictions()));
        EXPECT_EQ((*predictor)->output_kind(),
                  ends_in_softmax ? OutputKind::kClasses : OutputKind::kLabels);
      }
    }
  }
}

TEST_F(PredictorTest, FusionsAreThoseOfTraining) {
  const Graph graph = Net(TensorFormat::kNHWC);
  SavedModel model = {.graph = graph};
  model.description.fusions = Fusions::None();
  const std::string path = Saved(model, "fused.npz");
  const Tensor x = testing::RandomTensor(DType::kFloat32, graph.input_shape().Prepend(5), 5);
  auto plan = *Plan::Compile(graph, *store_, *device_, {.batch = 5, .fusions = Fusions::None()});
  ASSERT_TRUE(plan->Forward(x).ok());
  EXPECT_EQ(Values(*(*Predictor::Load(path))->Predict(x)), Values(plan->predictions()));
}

TEST_F(PredictorTest, MathModesAreThoseOfTraining) {
  const Graph graph = Net(TensorFormat::kNHWC);
  const std::string path = Saved({.graph = graph}, "bf16.safetensors");
  const Tensor x = testing::RandomTensor(DType::kFloat32, graph.input_shape().Prepend(5), 5);
  ASSERT_TRUE(device_->SetMathMode(MathMode::kBf16).ok());
  auto plan = *Plan::Compile(graph, *store_, *device_, {.batch = 5});
  ASSERT_TRUE(plan->Forward(x).ok());
  const auto predictor = *Predictor::Load(path, {.math_mode = MathMode::kBf16});
  EXPECT_EQ(Values(*predictor->Predict(x)), Values(plan->predictions()));
  EXPECT_NE(Values(*predictor->Predict(x)), Values(*(*Predictor::Load(path))->Predict(x)));
  EXPECT_FALSE(Predictor::Load(path, {.math_mode = MathMode::kTf32}).ok());
  EXPECT_EQ(Predictor::Load(path, {.math_mode = MathMode::kBf16, .int8 = true}).status().message(),
            "math mode bf16 is for models of float32, not for 8 bits");
  const std::string wide = Saved({.graph = graph, .dtype = DType::kFloat64}, "wide.safetensors");
  EXPECT_EQ(Predictor::Load(wide, {.math_mode = MathMode::kBf16}).status().message(),
            "math mode bf16 is for models of float32, not float64");
}

TEST_F(PredictorTest, ClassifiesFiles) {
  SavedModel model = {.graph = Net(TensorFormat::kNHWC)};
  model.description.class_names = {"zero", "one", "two", "three"};
  const auto predictor = *Predictor::Load(Saved(model, "named.safetensors"), {.batch = 2});
  std::vector<std::string> files;
  for (int i = 0; i < 5; ++i) {
    files.push_back(
        testing::WriteFile(folder_, std::to_string(i) + ".png",
                           testing::EncodePng(6, 6, testing::SmoothPixels(6, 6, 3, /*seed=*/i))));
  }
  const auto answers = predictor->Classify(files);
  ASSERT_TRUE(answers.ok()) << answers.status();
  ASSERT_EQ(answers->size(), 5);
  const Tensor x = *predictor->NewSamples(1);
  for (size_t i = 0; i < 5; ++i) {
    const Classification& answer = (*answers)[i];
    EXPECT_EQ(answer.file, files[i]);
    EXPECT_EQ(answer.name, model.description.class_names[size_t(answer.index)]);
    EXPECT_EQ(answer.probability, answer.outputs[size_t(answer.index)]);
    EXPECT_NEAR(answer.outputs[0] + answer.outputs[1] + answer.outputs[2] + answer.outputs[3], 1,
                1e-6);
    ASSERT_TRUE((*predictor->images())->Read(files[i], x, 0).ok());
    EXPECT_EQ(answer.outputs, Values(*predictor->Predict(x)));
  }
  EXPECT_TRUE(predictor->Classify({})->empty());
  const std::vector<std::string> one_missing = {folder_ + "/none", files[0]};
  const auto each = *predictor->ClassifyEach(one_missing);
  ASSERT_EQ(each.size(), 2);
  EXPECT_EQ(each[0].status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(each[1]->outputs, (*answers)[0].outputs);
  const absl::Status missing = predictor->Classify(one_missing).status();
  EXPECT_EQ(missing.message().find(folder_ + "/none: "), 0) << missing;
}

// With another number of threads each than the one that loaded it.
TEST_F(PredictorTest, ThreadsMayShareIt) {
  const SavedModel model = {.graph = Net(TensorFormat::kNHWC)};
  const auto predictor = *Predictor::Load(Saved(model, "shared.safetensors"), {.batch = 3});
  constexpr size_t kThreads = 4;
  std::vector<Tensor> samples;
  std::vector<std::vector<double>> expected, wrong(kThreads);
  for (size_t i = 0; i < kThreads; ++i) {
    const int64_t n = 4 + int64_t(i);
    samples.push_back(
        testing::RandomTensor(DType::kFloat32, model.graph.input_shape().Prepend(n), int(i)));
    expected.push_back(Values(*predictor->Predict(samples[i])));
  }
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      SetNumThreads(int(i) + 1);
      for (int call = 0; call < 2000 && wrong[i].empty(); ++call) {
        const absl::StatusOr<Tensor> outputs = predictor->Predict(samples[i]);
        if (!outputs.ok() || Values(*outputs) != expected[i]) wrong[i] = {double(call)};
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<double>& calls : wrong) EXPECT_EQ(calls, std::vector<double>());
}

TEST_F(PredictorTest, SaysWhatItsOutputsAre) {
  GraphBuilder b("line", TensorFormat::kNHWC);
  b.Input({6, 6, 3}).Flatten().Fc(1);
  const auto values = *Predictor::Load(Saved({.graph = *b.Build()}, "line.safetensors"));
  EXPECT_EQ(values->output_kind(), OutputKind::kValues);
}

TEST_F(PredictorTest, ClassNamesAreAsManyAsOutputs) {
  SavedModel model = {.graph = Net(TensorFormat::kNHWC)};
  auto file = *ArrayFileReader::Open(Saved(model, "nameless.safetensors"));
  model.description.class_names = {"zero", "one"};
  const absl::Status status = Predictor::Create(std::move(model), file, {}).status();
  EXPECT_EQ(status.message(), "the model names 2 classes, but its network has 4 outputs");
}

TEST_F(PredictorTest, SamplesThatDoNotFitAreRefused) {
  const auto predictor =
      *Predictor::Load(Saved({.graph = Net(TensorFormat::kNHWC)}, "small.safetensors"));
  const auto error = [&](const Tensor& x) {
    return std::string(predictor->Predict(x).status().message());
  };
  EXPECT_EQ(error(testing::ZeroTensor(DType::kFloat32, Shape{2, 6, 5, 3})),
            "model net takes one or more samples, (n, ...) of (6, 6, 3) and float32, not (2, 6, 5, "
            "3) of float32");
  EXPECT_NE(error(testing::ZeroTensor(DType::kFloat64, Shape{2, 6, 6, 3})), "");
  EXPECT_NE(error(Tensor()), "");
}

TEST_F(PredictorTest, FilesThatPromiseTooMuchAreRefused) {
  const std::string path = Saved({.graph = Net(TensorFormat::kNHWC)}, "honest.safetensors");
  EXPECT_EQ(Predictor::Load(path, {.batch = 0}).status().message(),
            "batches of 0 samples; expected 1 or more");
  EXPECT_TRUE(absl::IsNotFound(Predictor::Load(folder_ + "/none.npz").status()));
  ArrayFileReader file = *ArrayFileReader::Open(path);

  GraphBuilder large("net", TensorFormat::kNHWC);
  large.Input({6, 6, 3}).Conv2d(8, {.padding = 1}).BatchNorm().Relu();
  large.MaxPool2d({.stride = 2}).Flatten().Dropout(0.5).Fc(int64_t{1} << 30).Softmax();
  EXPECT_EQ(
      Predictor::Create({.graph = *large.Build()}, file).status().message(),
      path + ": \"7_FC_weights\" has 1152 bytes, too few for the (72, 1073741824) of model net");

  GraphBuilder wide("net", TensorFormat::kNHWC);
  wide.Input({1 << 20, 1 << 20, 3}).Relu();
  const absl::Status memory = Predictor::Create({.graph = *wide.Build()}, file).status();
  EXPECT_EQ(memory.code(), absl::StatusCode::kResourceExhausted) << memory;
  EXPECT_NE(memory.message().find(" MB left"), absl::string_view::npos) << memory;

  GraphBuilder more("net", TensorFormat::kNHWC);
  more.Input({6, 6, 3}).Conv2d(8, {.padding = 1}).Conv2d(8).Flatten().Fc(4).Softmax();
  EXPECT_EQ(Predictor::Create({.graph = *more.Build()}, file).status().message(),
            path + ": has no \"2_Conv2D_weights\", which model net needs");
}

// Ranges of 0 to 4 for all layers, and none of a layer that is not in the network.
QuantizationRecord Ranges(const SavedModel& model) {
  QuantizationRecord record = {.method = "minmax",
                               .samples = 2,
                               .input = model.graph.input_shape().ToString(),
                               .preprocessing = ToJson(model.preprocessing)};
  for (const Node& node : model.graph.nodes()) record.ranges[node.id] = {0, 4};
  record.ranges[0] = {-1, 1};
  return record;
}

TEST_F(PredictorTest, AQuantizedModelIsReadInBothWays) {
  SavedModel model = {.graph = Net(TensorFormat::kNHWC)};
  model.quantization = Ranges(model);
  const std::string path = Saved(model, "int8.safetensors");
  const Tensor x = testing::RandomTensor(DType::kFloat32, model.graph.input_shape().Prepend(7), 5);
  const auto exact = *Predictor::Load(path);
  EXPECT_EQ(exact->model().quantization, model.quantization);
  const auto bytes = *Predictor::Load(path, {.batch = 3, .int8 = true});
  const std::vector<double> expected = Values(*exact->Predict(x)),
                            answers = Values(*bytes->Predict(x));
  EXPECT_NE(answers, expected);
  EXPECT_TRUE(testing::Close(answers, expected, 0.05));
  EXPECT_THAT(bytes->Algorithms(), ::testing::Contains(::testing::HasSubstr("int8")));

  model.quantization.reset();
  EXPECT_EQ(Values(*(*Predictor::Load(Saved(model, "plain.safetensors")))->Predict(x)), expected);
}

TEST_F(PredictorTest, AModelThatWasNotQuantizedForThisIsRefused) {
  SavedModel model = {.graph = Net(TensorFormat::kNHWC)};
  const auto error = [&](const std::string& name) {
    const std::string path = Saved(model, name);
    const std::string message(Predictor::Load(path, {.int8 = true}).status().message());
    return message.substr(0, path.size()) == path ? message.substr(path.size()) : message;
  };
  EXPECT_EQ(error("none.safetensors"),
            ": has no ranges of values, which 8 bits need; the program quantize finds them");
  model.quantization = Ranges(model);
  model.preprocessing.normalization = {{0.5}, {2}};
  EXPECT_THAT(error("other.safetensors"), ::testing::StartsWith(": was quantized for other input"));
  model.preprocessing = {};
  model.quantization->ranges.erase(4);
  EXPECT_EQ(error("erased.safetensors"), "");  // a maximum is of its input's range
  model.quantization->ranges.erase(3);
  EXPECT_EQ(
      error("missing.safetensors"),
      ": layer 3 (Relu): has no range of values, which 8 bits need; quantize the model again");
  model.quantization = Ranges(model);
  model.quantization->ranges[3] = {1, 0};
  EXPECT_EQ(
      error("wrong.safetensors"),
      ", text \"__quantization__\": layer 3 has the range 1 to 0; expected two numbers in order");
}

TEST_F(PredictorTest, AnAnswerThatIsNaNNamesTheFile) {
  const auto predictor = *Predictor::Load(
      Saved({.graph = Net(TensorFormat::kNHWC), .preprocessing = {.normalization = {{0}, {1e300}}}},
            "infinite.safetensors"));
  const std::string image = testing::WriteFile(
      folder_, "a.png", testing::EncodePng(6, 6, testing::SmoothPixels(6, 6, 3)));
  EXPECT_THAT(std::string(predictor->Classify({image}).status().message()),
              ::testing::StartsWith(image + ": the network's output is NaN or infinite"));
}

}  // namespace
}  // namespace dtnn
