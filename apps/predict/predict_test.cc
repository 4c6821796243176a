#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/predict/ask.h"
#include "apps/testing/process.h"
#include "comm/ranks/job/exit_code.h"
#include "data/preprocessing.h"
#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/device/context.h"
#include "models/graph/builder.h"
#include "models/parameters/parameter_store.h"
#include "models/parameters/weights.h"
#include "models/serving/saved_model.h"
#include "models/zoo/zoo.h"
#include "tensor/files/array_file.h"
#include "tensor/files/atomic_file.h"

namespace dtnn {
namespace {

using testing::Ask;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing::WriteFile;

testing::Bytes Text(std::string_view text) { return {text.begin(), text.end()}; }

// A network that was trained by the launcher to tell dark images from bright ones.
class PredictTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    root_ = testing::NewFolder("predict");
    for (const char* part : {"/train", "/test"}) {
      for (const bool bright : {false, true}) {
        const std::string folder = root_ + part + (bright ? "/bright" : "/dark");
        std::filesystem::create_directories(folder);
        for (int i = 0; i < 10; ++i) {
          const uint8_t grey = uint8_t((bright ? 200 : 20) + i);
          WriteFile(folder, std::to_string(i), testing::FlatJpeg(12 + i, 14, {grey, grey, grey}));
        }
      }
    }
    weights_ = root_ + "/checkpoints/checkpoint-80.npz";
    model_ = root_ + "/model.safetensors";
    const testing::Outcome trained = testing::Launch(
        "apps/benchmark",
        "--model=simplemlp --dataset=folder --dataset-path=" + root_ +
            " --transform-resize --transform-resize-size=8 --batch-size=4 --num-epochs=20 "
            "--schedulers= --normalize --save-model=" +
            model_ + " --checkpoint-dir=" + root_ + "/checkpoints");
    ASSERT_EQ(trained.exit_code, 0) << trained.text;
    ASSERT_TRUE(std::filesystem::exists(weights_)) << trained.text;
  }
  static PredictOptions Options() {
    return {.weights = weights_,
            .input_shape = {3, 8, 8},
            .class_names = root_,
            .normalize = true,
            .batch = 3};
  }
  static inline std::string root_, weights_, model_;
};

// The same parameters in a file with these texts.
std::string WithTags(const std::string& weights, const std::string& path, const NamedTexts& tags) {
  const auto context = DeviceContext::Create(Device::Cpu()).value();
  const Graph graph =
      BuildModel("simplemlp",
                 {.format = TensorFormat::kNHWC, .sample = ImageExtents{8, 8, 3}, .classes = 2})
          .value();
  const auto store = ParameterStore::Create(graph, *context, DType::kFloat32, 0).value();
  EXPECT_TRUE(LoadWeights(weights, graph, *store, *context).ok());
  EXPECT_TRUE(SaveWeights(path, graph, *store, *context, {}, tags).ok());
  return path;
}

TEST_F(PredictTest, TellsTheClassesOfAFolder) {
  const testing::Answer outcome = Ask(Options(), {root_ + "/test"});
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  std::istringstream lines(outcome.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const std::string name = count < 10 ? "bright" : "dark";
    EXPECT_THAT(line, HasSubstr("/test/" + name + "/" + std::to_string(count % 10) + ": " + name));
  }
  EXPECT_EQ(count, 20);
}

// Network, classes, geometry and normalisation.
TEST_F(PredictTest, AModelsFileSaysAll) {
  PredictOptions flags = Options();
  flags.format = "csv";
  flags.top = 2;
  const testing::Answer expected = Ask(flags, {root_ + "/test"});
  for (const std::string& file : {model_, weights_}) {
    PredictOptions options = {.format = "csv", .top = 2};
    (file == model_ ? options.model_file : options.weights) = file;
    const testing::Answer outcome = Ask(options, {root_ + "/test"});
    ASSERT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_EQ(outcome.out, expected.out);
    EXPECT_EQ(outcome.errors, "");
  }
  const testing::Outcome program =
      testing::Launch("apps/predict/predict", root_ + "/test/dark/3 --model-file=" + model_);
  EXPECT_EQ(program.exit_code, kExitDone);
  EXPECT_THAT(program.text, HasSubstr("/test/dark/3: dark "));
  EXPECT_THAT(std::string(Ask({.model_file = "/none.npz"}, {root_ + "/test"}).status.message()),
              StartsWith("--model-file: /none.npz: "));
}

TEST_F(PredictTest, FlagsOfTheProgramSayHowItComputes) {
  const auto text = [&](const std::string& arguments) {
    return testing::Launch("apps/predict/predict", root_ + "/test/dark/3 --model-file=" + model_ +
                                                       " --format=csv --top=2 " + arguments)
        .text;
  };
  const std::string plain = text("");
  EXPECT_THAT(text("--math-mode=int8"), HasSubstr(": has no ranges of values, which 8 bits need"));
  EXPECT_THAT(text("--math-mode=tf32"), HasSubstr("must be one of: fp32, bf16, int8"));
  EXPECT_NE(text("--normalize --normalize-offset=-0.2 --normalize-scale=1.5"),
            text("--normalize --normalize-offset=-0.7 --normalize-scale=1.5"));
  EXPECT_NE(text("--normalize --normalize-offset=-0.2 --normalize-scale=1.5"),
            text("--normalize --normalize-offset=-0.2 --normalize-scale=2.5"));
  EXPECT_NE(plain, "");
}

// They may agree with it.
TEST_F(PredictTest, EightBitsNeedAModelThatWasQuantized) {
  const testing::Answer plain = Ask({.model_file = model_, .math_mode = "int8"}, {root_ + "/test"});
  EXPECT_EQ(
      plain.status.message(),
      model_ + ": has no ranges of values, which 8 bits need; the program quantize finds them");

  auto file = ArrayFileReader::Open(model_).value();
  SavedModel model = ReadModel(file).value();
  model.quantization = QuantizationRecord{.method = "minmax",
                                          .samples = 40,
                                          .input = model.graph.input_shape().ToString(),
                                          .preprocessing = ToJson(model.preprocessing)};
  for (const Node& node : model.graph.nodes()) model.quantization->ranges[node.id] = {0, 40};
  model.quantization->ranges[model.graph.nodes()[0].id] = {-3, 3};  // normalised pixels
  const auto context = DeviceContext::Create(Device::Cpu()).value();
  const auto store = ParameterStore::Create(model.graph, *context, DType::kFloat32, 0).value();
  ASSERT_TRUE(LoadWeights(model_, model.graph, *store, *context).ok());
  const std::string path = root_ + "/quantized.safetensors";
  ASSERT_TRUE(SaveModel(path, model, *store, *context).ok());
  for (const char* mode : {"fp32", "bf16", "int8"}) {
    const testing::Answer outcome = Ask({.model_file = path, .math_mode = mode}, {root_ + "/test"});
    ASSERT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_THAT(outcome.out, HasSubstr("/test/bright/0: bright"));
    EXPECT_THAT(outcome.out, HasSubstr("/test/dark/9: dark"));
  }
}

TEST_F(PredictTest, FlagsDoNotChangeTheNetworkOfAFile) {
  const std::vector<std::string> files = {root_ + "/test/dark/3"};
  const std::string expected = Ask({.model_file = model_}, files).out;
  const PredictOptions same = {.model_file = model_,
                               .model = "simplemlp",
                               .loss_func = "categorical_cross_entropy",
                               .dataset = "folder",
                               .input_shape = {3, 8, 8},
                               .class_names = root_};
  EXPECT_EQ(Ask(same, files).out, expected);
  const auto refused = [&](PredictOptions options) {
    for (std::string PredictOptions::*file :
         {&PredictOptions::model_file, &PredictOptions::weights}) {
      options.model_file = options.weights = "";
      options.*file = file == &PredictOptions::model_file ? model_ : weights_;
      const absl::Status status = Ask(options, files).status;
      EXPECT_EQ(ExitCodeOf(status), kExitUsage) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(options.*file));
    }
    options.model_file = model_;
    options.weights = "";
    return std::string(Ask(options, files).status.message());
  };
  EXPECT_EQ(refused({.model = "simplecnn"}),
            "--model=simplecnn: " + model_ +
                " holds network \"simplemlp\"; leave the option out, the file says it");
  EXPECT_EQ(refused({.loss_func = "binary_cross_entropy"}),
            "--loss-func=binary_cross_entropy: " + model_ +
                " was trained with loss \"categorical_cross_entropy\"; leave the option out, the "
                "file says it");
  EXPECT_THAT(refused({.input_shape = {3, 16, 16}}), HasSubstr(" takes images of 3,8,8;"));
  EXPECT_THAT(refused({.dataset = "mnist"}), HasSubstr(" takes samples of 8x8x3 and has 2 outputs, "
                                                       "not 28x28x1 and 10;"));
  const std::string names = WriteFile(root_, "names", Text("dark\nbright\n"));
  EXPECT_EQ(refused({.class_names = names}),
            "--class-names: " + names + " names dark, bright, but the classes of " + model_ +
                " are bright, dark; leave the option out, the file says it");
}

TEST_F(PredictTest, FlagsAddToAModelsFile) {
  const std::vector<std::string> files = {root_ + "/test/dark/3"};
  const std::string three = WriteFile(root_, "three", Text("a\nb\nc\n"));
  const testing::Answer wrong = Ask({.model_file = model_, .class_names = three}, files);
  EXPECT_EQ(ExitCodeOf(wrong.status), kExitUsage);
  EXPECT_THAT(std::string(wrong.status.message()),
              HasSubstr(three + " names 3 classes, but the network has 2"));
  const testing::Answer other = Ask({.model_file = model_, .mean = {0.5}}, files);
  EXPECT_THAT(other.errors,
              HasSubstr(model_ + ": was trained on images preprocessed as byte / 255, offset"));
  EXPECT_EQ(ExitCodeOf(Ask({.model_file = model_, .weights = weights_}, files).status), kExitUsage);
}

// Whatever the file holds, the network sees the same red, green and blue.
TEST_F(PredictTest, EveryKindOfPngIsRead) {
  constexpr uint8_t kDark = 24;
  const auto rows = [](std::vector<uint8_t> pixel) {
    std::vector<uint8_t> all;
    for (int i = 0; i < 12 * 14; ++i) all.insert(all.end(), pixel.begin(), pixel.end());
    return all;
  };
  const std::pair<const char*, testing::Bytes> files[] = {
      {"grey", testing::EncodePng(12, 14, rows({kDark}), {.color_type = 0})},
      {"grey_alpha", testing::EncodePng(12, 14, rows({kDark, 0}), {.color_type = 4})},
      {"rgb", testing::EncodePng(12, 14, rows({kDark, kDark, kDark}))},
      {"rgba", testing::EncodePng(12, 14, rows({kDark, kDark, kDark, 9}), {.color_type = 6})},
      {"grey_16",
       testing::EncodePng(12, 14, rows({kDark, kDark}), {.color_type = 0, .bit_depth = 16})},
      {"palette",
       testing::EncodePng(12, 14, rows({1}),
                          {.color_type = 3, .palette = {{255, 255, 255}, {kDark, kDark, kDark}}})}};
  std::string first;
  for (const auto& [name, bytes] : files) {
    const std::string path = WriteFile(root_, name, bytes);
    const testing::Answer answer = Ask({.model_file = model_}, {path});
    ASSERT_TRUE(answer.status.ok()) << name << ": " << answer.status;
    EXPECT_EQ(answer.errors, "");
    const std::string said = answer.out.substr(path.size());
    if (first.empty()) first = said;
    EXPECT_THAT(said, StartsWith(": dark "));
    EXPECT_EQ(said, first) << name;
  }
}

TEST_F(PredictTest, AFileOfParametersAloneNeedsTheirNetwork) {
  const std::string path = root_ + "/alone.npz";
  ASSERT_TRUE(WriteArrayFile(path, {}, {}).ok());
  const testing::Answer outcome = Ask({.model_file = path}, {root_ + "/test/dark/3"});
  EXPECT_EQ(ExitCodeOf(outcome.status), kExitUsage);
  EXPECT_EQ(outcome.status.message(),
            "--model: missing, and " + path +
                " contains parameters only and does not name their network; name it "
                "(--model=list shows all), as it was called in training");
}

TEST_F(PredictTest, WhatIsMissingIsNamed) {
  EXPECT_EQ(Ask({}, {root_ + "/test/dark/3"}).status,
            UsageError("--model-file: missing; name the file of a trained model"));
  EXPECT_EQ(Ask({}, {"mine.npz", root_ + "/test/dark/3"}).status,
            UsageError("--model-file: missing; name the file of a trained model: "
                       "--model-file=mine.npz"));
  const std::string folder = root_ + "/nothing";
  std::filesystem::create_directories(folder);
  EXPECT_EQ(Ask({.model_file = model_}, {folder}).status.message(),
            folder + ": no JPEG or PNG images there");
}

TEST_F(PredictTest, WeightsOfPyTorchAreRefusedWithTheCommandThatImportsThem) {
  const std::string path = root_ + "/state.safetensors";
  const Tensor values = *Tensor::Zeros(DType::kFloat32, Shape{2});
  ASSERT_TRUE(WriteArrayFile(path, {{"conv1.weight", values}}, {}).ok());
  for (const char* model : {"", "torchvision_resnet18"}) {
    const testing::Answer outcome =
        Ask({.model_file = path, .model = model}, {root_ + "/test/dark/3"});
    EXPECT_EQ(outcome.status.message(),
              "--model-file: " + path +
                  ": has weights of PyTorch, by the names of its parameters (a model is made of "
                  "them by: bazel run //apps:import -- " +
                  path + " --model=" + (*model == 0 ? "NAME" : model) +
                  " --final-activation=softmax OUT.safetensors)");
  }
}

TEST_F(PredictTest, NormalisationsOfBothKindsAgree) {
  PredictOptions options = Options();
  options.format = "csv";
  options.top = 2;
  const testing::Answer one = Ask(options, {root_ + "/test/dark/3"});
  ASSERT_TRUE(one.status.ok()) << one.status;
  EXPECT_TRUE(one.out.starts_with("file,rank,class,probability\n" + root_ + "/test/dark/3,1,dark,"))
      << one.out;
  options.normalize = false;
  options.std.assign(3, 0.266666666666666666);
  options.mean.assign(3, 0.45);
  EXPECT_EQ(Ask(options, {root_ + "/test/dark/3"}).out, one.out);
  options.normalize = true;
  EXPECT_EQ(ExitCodeOf(Ask(options, {root_}).status), kExitUsage);
}

TEST_F(PredictTest, AMeanOfBytesIsRefused) {
  const std::string refused =
      "takes 127.5 from values of byte / 255, which are at most 1; a mean of bytes is divided by "
      "255: 0.5";
  for (const std::string& file : {weights_, model_}) {
    PredictOptions options = {.weights = file};
    if (file == weights_) options = Options();
    options.normalize = false;
    options.mean.assign(3, 127.5);
    EXPECT_EQ(Ask(options, {root_}).status, UsageError("--mean: ", refused)) << file;
    options.mean.clear();
    options.normalize = true;
    options.normalize_offset = {-0.5, -127.5, 0};
    EXPECT_EQ(Ask(options, {root_}).status, UsageError("--normalize-offset: ", refused)) << file;
  }
}

TEST_F(PredictTest, TheFileSaysHowImagesWereNormalised) {
  PredictOptions options = Options();
  options.format = "csv";
  const std::vector<std::string> files = {root_ + "/test/dark/3", root_ + "/test/bright/4"};
  const testing::Answer repeated = Ask(options, files);
  EXPECT_EQ(repeated.errors, "");
  options.normalize = false;
  const testing::Answer applied = Ask(options, files);
  ASSERT_TRUE(applied.status.ok()) << applied.status;
  EXPECT_EQ(applied.out, repeated.out);
  EXPECT_EQ(applied.errors, "");
  options.mean = {0.5};
  options.std = {0.25, 0.125};
  EXPECT_EQ(Ask(options, files).status,
            UsageError("--mean, --std or --normalize: normalisation with 2 offsets and 2 scales; "
                       "expected one each, or 3, one per channel"));
  options.mean = {0.5, 0.25, 0.125};
  EXPECT_EQ(Ask(options, files).status,
            UsageError("--mean, --std: have 3 and 2 numbers; expected one, or one per channel"));
  options.mean = {0.5};
  options.std = {};
  const testing::Answer other = Ask(options, files);
  EXPECT_NE(other.out, repeated.out) << "flags count";
  EXPECT_THAT(other.errors, HasSubstr("predict: warning: " + weights_ +
                                      ": was trained on images preprocessed as byte / 255, offset "
                                      "-0.45, scale 3.75, resized to 8 x 8; --normalize, --mean "
                                      "and --std change this to byte / 255, offset -0.5, scale 1"));
}

TEST_F(PredictTest, WhereTheFileDoesNotSayAWarningDoes) {
  PredictOptions options = Options();
  options.weights = WithTags(weights_, root_ + "/untold.npz", {});
  const std::string warning =
      "predict: warning: " + options.weights + ": does not say how training normalised its images";
  EXPECT_THAT(Ask(options, {root_ + "/test/dark/3"}).errors, Not(HasSubstr(warning)));
  options.normalize = false;
  EXPECT_THAT(Ask(options, {root_ + "/test/dark/3"}).errors, HasSubstr(warning));
  options.weights = WithTags(weights_, root_ + "/odd.npz", {{"__preprocessing__", "{}"}});
  const testing::Answer odd = Ask(options, {root_ + "/test/dark/3"});
  EXPECT_EQ(ExitCodeOf(odd.status), kExitFailed);
  EXPECT_THAT(std::string(odd.status.message()), HasSubstr("odd.npz: describes its preprocessing"));
}

// As ImageNet's .npz files are: colours the other way round, means subtracted, not divided by 255.
TEST_F(PredictTest, ImagesAreShownInTheOrderOfTraining) {
  const Preprocessing rgb = {Preprocessing::Input::kBytes, {{-0.25, -0.5, -0.75}, {2, 3, 4}}};
  Preprocessing bgr = rgb;
  bgr.input = Preprocessing::Input::kBgr;
  PredictOptions options = Options();
  options.format = "csv";
  options.normalize = false;
  const auto answer = [&](const Preprocessing& told, std::array<uint8_t, 3> colours) {
    const std::string folder = testing::NewFolder("predict_bgr");
    options.weights = WithTags(weights_, folder + "/w.npz", {{"__preprocessing__", ToJson(told)}});
    testing::Bytes pixels;
    for (int i = 0; i < 64; ++i) pixels.insert(pixels.end(), colours.begin(), colours.end());
    const testing::Answer outcome =
        Ask(options, {WriteFile(folder, "image", testing::EncodePng(8, 8, pixels))});
    EXPECT_EQ(outcome.errors, "");
    return outcome.out.substr(outcome.out.find(",1,"));
  };
  EXPECT_EQ(answer(bgr, {200, 100, 20}), answer(rgb, {20, 100, 200}));
  EXPECT_NE(answer(rgb, {200, 100, 20}), answer(rgb, {20, 100, 200}));
}

TEST_F(PredictTest, ClassesThatNobodyNamedAreAskedFor) {
  PredictOptions options = Options();
  options.weights = WithTags(weights_, root_ + "/unnamed.npz", {});
  options.class_names = "";
  const testing::Answer outcome = Ask(options, {root_ + "/test/dark/3"});
  EXPECT_EQ(ExitCodeOf(outcome.status), kExitFailed);
  EXPECT_THAT(
      std::string(outcome.status.message()),
      HasSubstr(options.weights + ": does not fit model simplemlp with 10 classes; a network that "
                                  "was trained on your own data needs --class-names"));
}

TEST_F(PredictTest, AFileThatDescribesItselfNeedsNoNames) {
  GraphBuilder b("net", TensorFormat::kNHWC);
  const SavedModel model = {.graph = *b.Input({8, 8, 3}).Flatten().Fc(2).Softmax().Build(),
                            .dtype = DType::kFloat64};
  const auto context = DeviceContext::Create(Device::Cpu()).value();
  const auto store = ParameterStore::Create(model.graph, *context, model.dtype, 0).value();
  const std::string path = root_ + "/double.safetensors";
  ASSERT_TRUE(SaveModel(path, model, *store, *context).ok());
  EXPECT_EQ(Ask({.model_file = path, .math_mode = "bf16"}, {root_ + "/test"}).status.message(),
            "math mode bf16 is for models of float32, not float64");
}

TEST_F(PredictTest, NaNInAFileIsNotBlamedOnMissingNames) {
  const auto context = DeviceContext::Create(Device::Cpu()).value();
  const Graph graph =
      BuildModel("simplemlp", {.format = TensorFormat::kNHWC, .sample = ImageExtents{8, 8, 3}})
          .value();
  const auto store = ParameterStore::Create(graph, *context, DType::kFloat32, 0).value();
  store->values().data<float>()[0] = std::nanf("");
  PredictOptions options = Options();
  options.class_names = "";
  options.weights = testing::NewFolder("predict_nan") + "/w.npz";
  ASSERT_TRUE(SaveWeights(options.weights, graph, *store, *context).ok());
  const testing::Answer outcome = Ask(options, {root_ + "/test/dark/3"});
  EXPECT_THAT(std::string(outcome.status.message()), HasSubstr(" contains the value nan "));
  EXPECT_THAT(std::string(outcome.status.message()), Not(HasSubstr("--class-names")));
}

TEST_F(PredictTest, OfAFolderOnlyImagesAreAnswered) {
  const std::string folder = testing::NewFolder("predict_others");
  WriteFile(folder, "image", testing::FlatJpeg(8, 8, {205, 205, 205}));
  const std::string other = WriteFile(folder, "Thumbs.db", testing::Bytes{1, 2});
  std::filesystem::create_directory_symlink(folder, folder + "/again");
  const testing::Answer outcome = Ask(Options(), {folder});
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 1);
  EXPECT_EQ(outcome.errors,
            "predict: warning: 1 file is not a JPEG or PNG image and is skipped: " + other + "\n");
  EXPECT_FALSE(Ask(Options(), {other}).status.ok()) << "a file that is named must be readable";
}

// As classes.txt beside the files of a data set is read.
TEST_F(PredictTest, AFileOfNamesIsReadAsDataSetsReadTheirs) {
  const auto ask = [&](const std::string& text) {
    PredictOptions options = Options();
    options.class_names = WriteFile(root_, "names", testing::Bytes(text.begin(), text.end()));
    return Ask(options, {root_ + "/test/dark/3"});
  };
  const testing::Answer named = ask(" bright \r\ndark\t\n\n");
  EXPECT_TRUE(named.status.ok()) << named.status;
  EXPECT_THAT(std::string(ask("bright\n\ndark\n").status.message()),
              HasSubstr("/names: line 2: expected the name of class 1"));
  EXPECT_THAT(std::string(ask("dark\ndark\n").status.message()),
              HasSubstr("/names: line 2: dark appears twice"));
}

TEST_F(PredictTest, APipeIsNoListOfNames) {
  PredictOptions options = Options();
  options.class_names = testing::NewFolder("predict_pipe") + "/names";
  ASSERT_EQ(mkfifo(options.class_names.c_str(), 0600), 0);
  EXPECT_THAT(std::string(Ask(options, {root_ + "/test/dark/3"}).status.message()),
              HasSubstr("/names: is a pipe, not a regular file"));
}

TEST_F(PredictTest, ABrokenFileIsNamedAndTheOthersAreAnswered) {
  const std::string broken = WriteFile(root_, "broken", testing::Bytes{1, 2, 3});
  const std::vector<std::string> files = {broken, root_ + "/test/dark/1", root_ + "/none",
                                          root_ + "/test/bright/1", root_ + "/test/dark/2"};
  const testing::Answer text = Ask(Options(), files);
  EXPECT_EQ(ExitCodeOf(text.status), kExitFailed);
  EXPECT_EQ(text.status.message(), "2 of 5 files could not be classified");
  EXPECT_THAT(text.errors, HasSubstr("predict: " + broken + ": "));
  EXPECT_THAT(text.errors, HasSubstr("predict: " + root_ + "/none: "));
  EXPECT_EQ(std::ranges::count(text.out, '\n'), 3);
  PredictOptions options = Options();
  options.format = "json";
  const std::string json = Ask(options, files).out;
  EXPECT_TRUE(json.starts_with("[\n{\"file\": ")) << json;
  EXPECT_TRUE(json.ends_with("}]}\n]\n")) << json;
  EXPECT_THAT(json, HasSubstr("\"error\": "));
  EXPECT_THAT(json, HasSubstr("\"predictions\": [{\"class\": \"bright\", \"index\": 0, "));
  EXPECT_EQ(std::ranges::count(json, '\n'), 7);
}

TEST_F(PredictTest, AnAnswerThatIsNaNFails) {
  PredictOptions options = Options();
  options.normalize = false;
  options.std = {1e-40};  // more than float32 holds: infinities that cancel each other
  const std::string file = root_ + "/test/dark/1";
  const testing::Answer outcome = Ask(options, {file});
  EXPECT_EQ(ExitCodeOf(outcome.status), kExitFailed);
  EXPECT_EQ(outcome.status.message(), "") << "one file, one line";
  EXPECT_THAT(outcome.errors, HasSubstr(file + ": the network's output is NaN or infinite"));
  EXPECT_EQ(outcome.out, "");
}

TEST_F(PredictTest, CsvQuotesNamesThatHoldItsOwnCharacters) {
  const std::string folder = testing::NewFolder("predict_csv");
  const std::string file =
      WriteFile(folder, "a, \"b\".jpg", testing::FlatJpeg(8, 8, {205, 205, 205}));
  WriteFile(folder, "names", Text("bright, even \"very\"\ndark\n"));
  PredictOptions options = Options();
  options.format = "csv";
  options.weights = WithTags(weights_, folder + "/w.npz", {});
  options.class_names = folder + "/names";
  EXPECT_THAT(Ask(options, {file}).out,
              HasSubstr("\n\"" + folder + "/a, \"\"b\"\".jpg\",1,\"bright, even \"\"very\"\"\","));
}

TEST_F(PredictTest, OnlyTheMiddleIsSeenWhereThatIsAsked) {
  // A bright square of half the side in a dark image.
  testing::Bytes framed(64 * 64 * 3, 20);
  for (size_t y = 16; y < 48; ++y) {
    std::fill_n(framed.begin() + ptrdiff_t(y * 64 + 16) * 3, 32 * 3, 205);
  }
  const testing::Bytes flat(64 * 64 * 3, 205);
  const std::string folder = testing::NewFolder("predict_crop");
  const std::string one = WriteFile(folder, "a", testing::EncodePng(64, 64, framed));
  const std::string other = WriteFile(folder, "b", testing::EncodePng(64, 64, flat));
  PredictOptions options = Options();
  options.format = "csv";
  const auto answer = [&](const std::string& file, double crop) {
    options.crop = crop;
    const std::string text = Ask(options, {file}).out;
    return text.substr(text.find(",1,"));
  };
  EXPECT_EQ(answer(one, 0.5), answer(other, 1));
  EXPECT_EQ(answer(other, 0.5), answer(other, 1));
  EXPECT_NE(answer(one, 1), answer(other, 1));
  // A model that was trained on the middle of images: 0 is as it was trained, 1 is all of an image.
  options = {.model_file = folder + "/cropped.npz", .format = "csv"};
  const testing::Outcome trained =
      testing::Launch("apps/benchmark",
                      "--model=simplemlp --dataset=folder --dataset-path=" + root_ +
                          " --transform-resize --transform-resize-size=8 --transform-crop "
                          "--transform-crop-perc=0.5 --batch-size=4 --num-epochs=5 --save-model=" +
                          options.model_file);
  ASSERT_EQ(trained.exit_code, 0) << trained.text;
  EXPECT_EQ(answer(one, 0), answer(other, 0));
  EXPECT_NE(answer(one, 1), answer(other, 1));
}

// Training had cropped twice, the second time what its data set had cut.
TEST_F(PredictTest, ACropTakesThePlaceOfAllThatTrainingCropped) {
  const std::string folder = testing::NewFolder("predict_crop_twice");
  const std::string image = WriteFile(
      folder, "image", testing::EncodePng(64, 64, testing::SmoothPixels(64, 64, 3, /*seed=*/1)));
  PredictOptions options = Options();
  options.format = "csv";
  const auto answer = [&](const ImageGeometry& geometry, double crop) {
    options.weights = WithTags(weights_, folder + "/w.npz",
                               {{"__preprocessing__", ToJson({.geometry = geometry})}});
    options.crop = crop;
    const std::string text = Ask(options, {image}).out;
    return text.substr(text.find(",1,"));
  };
  const ImageGeometry once = {.geometry = {.crop = 0.75, .resize = 16}};
  ImageGeometry all = once, twice = once;
  all.side = twice.side = 16;
  all.then = {.resize = 8};
  twice.then = {.square = true, .crop = 0.5, .resize = 8};
  EXPECT_NE(answer(twice, 0), answer(all, 0));
  EXPECT_EQ(answer(twice, 1), answer(all, 1));
  EXPECT_EQ(answer(twice, 0.5), answer(all, 0.5));
  EXPECT_NE(answer(twice, 1), answer(twice, 0.5));
}

// The same weights before another last layer.
TEST_F(PredictTest, TheLossOfTrainingSaysWhatNumbersMean) {
  const std::vector<std::string> files = {root_ + "/test/bright/1"};
  PredictOptions options = Options();
  options.weights = WithTags(weights_, root_ + "/without_network.npz", {});
  options.top = 2;
  options.format = "csv";
  const auto sum = [&] {
    const std::string text = Ask(options, files).out;
    EXPECT_THAT(text, HasSubstr(",1,bright,")) << "the order stays";
    const size_t first = text.find(",1,bright,"), second = text.find(",2,dark,");
    return std::stod(text.substr(first + 10)) + std::stod(text.substr(second + 8));
  };
  EXPECT_NEAR(sum(), 1, 1e-5);
  options.loss_func = "binary_cross_entropy";
  EXPECT_GT(std::abs(sum() - 1), 1e-5);
  options.format = "text";
  EXPECT_THAT(Ask(options, files).out, HasSubstr(" %"));
  options.loss_func = "mse";
  const testing::Answer values = Ask(options, files);
  EXPECT_THAT(values.out, HasSubstr("/test/bright/1: bright "));
  EXPECT_THAT(values.out, HasSubstr(", dark "));
  EXPECT_THAT(values.out, Not(HasSubstr("%")));
  EXPECT_THAT(values.errors, HasSubstr("--top has no effect: the network predicts values"));
  options.top = 0;
  options.format = "json";
  const testing::Answer json = Ask(options, files);
  EXPECT_THAT(json.out, HasSubstr("{\"name\": \"dark\", \"index\": 1, \"value\": "));
  EXPECT_THAT(json.out, Not(HasSubstr("probability")));
  EXPECT_THAT(json.errors, Not(HasSubstr("--top")));
  options.format = "csv";
  EXPECT_TRUE(
      Ask(options, files).out.starts_with("file,output,name,value\n" + files[0] + ",0,bright,"));
  options.loss_func = "none";
  EXPECT_EQ(ExitCodeOf(Ask(options, files).status), kExitUsage);
}

// Both labels, one and none, by the biases of the last layer alone.
TEST_F(PredictTest, AllLabelsAboveHalfArePrinted) {
  const auto context = DeviceContext::Create(Device::Cpu()).value();
  GraphBuilder b("labels", TensorFormat::kNHWC);
  b.Input({8, 8, 3}).Flatten().Fc(2).Sigmoid();
  const Graph graph = b.Build().value();
  const auto store = ParameterStore::Create(graph, *context, DType::kFloat32, 0).value();
  const std::vector<std::string> files = {root_ + "/test/bright/1"};
  const auto answer = [&](float warm, float wet, int64_t top = 0) {
    std::ranges::fill_n(store->values().data<float>(), store->values().num_elements(), 0.0f);
    const Tensor biases = store->Value(int(graph.nodes().size()) - 2, 1);
    biases.data<float>()[0] = warm;
    biases.data<float>()[1] = wet;
    const std::string path = root_ + "/labels.safetensors";
    SavedModel model = {.graph = graph};
    model.preprocessing.geometry = ImageGeometry{.geometry = {.resize = 8}};
    model.description.class_names = {"warm", "wet"};
    EXPECT_TRUE(SaveModel(path, model, *store, *context).ok());
    const testing::Answer outcome = Ask({.model_file = path, .top = top}, files);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    return outcome.out.substr(files[0].size());
  };
  EXPECT_EQ(answer(1, 2), ": wet 88.08 %, warm 73.11 %\n");
  EXPECT_EQ(answer(1, -2), ": warm 73.11 %\n");
  EXPECT_EQ(answer(-1, -2), ": no label\n");
  EXPECT_EQ(answer(-1, -2, 1), ": warm 26.89 %\n");
}

TEST_F(PredictTest, TheBatchChangesNothing) {
  PredictOptions options = Options();
  options.format = "csv";
  const std::string expected = Ask(options, {root_ + "/test"}).out;
  for (const int64_t batch : {1, 7, 64}) {
    options.batch = batch;
    EXPECT_EQ(Ask(options, {root_ + "/test"}).out, expected);
  }
}

TEST_F(PredictTest, ModelsAreListed) {
  const testing::Outcome list = testing::Launch("apps/predict/predict", "--model=list");
  EXPECT_EQ(list.exit_code, kExitDone);
  EXPECT_EQ(list.text, testing::Launch("apps/benchmark", "--model=list").text);
}

// As the launcher's are.
TEST_F(PredictTest, FlagsHaveTheirValuesOnly) {
  const std::string image = root_ + "/test/bright/1";
  const auto ask = [&](const std::string& arguments) {
    return testing::Launch("apps/predict/predict",
                           "--weights-and-bias-filename=" + weights_ +
                               " --input-shape=3,8,8 --class-names=" + root_ + " " + arguments);
  };
  const testing::Outcome bare = ask(image + " --normalize");
  EXPECT_EQ(bare.exit_code, kExitDone);
  EXPECT_THAT(bare.text, HasSubstr("/1: bright"));
  for (const char* words :
       {" --normalize true ", " --normalize=yes ", " --nonormalize --normalize "}) {
    EXPECT_EQ(ask(words + image).text, bare.text) << words;
  }
  const auto refused = [&](const std::string& argument, const std::string& message) {
    const testing::Outcome outcome = ask(argument + " " + image);
    EXPECT_EQ(outcome.exit_code, kExitUsage) << argument;
    EXPECT_TRUE(outcome.text.starts_with("predict: " + argument + ": " + message)) << outcome.text;
  };
  const testing::Outcome normalised = testing::Launch(
      "apps/predict/predict", "--weights-and-bias-filename=" + weights_ + " --input-shape=3,8,8 " +
                                  "--mean=0.5 --std=0.25 " + image);
  EXPECT_THAT(normalised.text, HasSubstr("change this to byte / 255, offset -0.5, scale 4"));
  refused("--format=xml", "unknown word \"xml\"; must be one of: text, csv, json");
  refused("--crop=2", "must be a real number >= 0 and <= 1");
  refused("--std=0", "must be a comma list of real numbers >= 1e-30");
  refused("--normalize-scale=1,0", "must be a comma list of real numbers");
  refused("--loss-func=hinge", "unknown word");
  refused("--weights-format=NWHC", "unknown word \"NWHC\"");
}

TEST_F(PredictTest, WrongUseIsSaid) {
  EXPECT_EQ(ExitCodeOf(Ask(Options(), {}).status), kExitUsage);
  const std::string alone = WithTags(weights_, root_ + "/parameters_alone.npz", {});
  const auto refused = [&](void (*change)(PredictOptions&)) {
    PredictOptions options = Options();
    options.weights = alone;
    change(options);
    return ExitCodeOf(Ask(options, {root_ + "/test"}).status);
  };
  EXPECT_EQ(refused([](PredictOptions& o) { o.weights = ""; }), kExitUsage);
  EXPECT_EQ(refused([](PredictOptions& o) { o.input_shape = {3, 8}; }), kExitUsage);
  EXPECT_EQ(refused([](PredictOptions& o) {
              o = {.weights = o.weights, .model = o.model, .dataset = "folder"};
            }),
            kExitUsage);
  EXPECT_EQ(refused([](PredictOptions& o) { o.normalize_scale = {1, 1}; }), kExitUsage);
  EXPECT_EQ(refused([](PredictOptions& o) { o.model = "none"; }), kExitUsage);
  EXPECT_EQ(refused([](PredictOptions& o) { o.input_shape = {3, 9, 9}; }), kExitFailed);
}

}  // namespace
}  // namespace dtnn
