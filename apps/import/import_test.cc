#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "apps/conversion/import_model.h"
#include "apps/testing/process.h"
#include "comm/ranks/job/exit_code.h"
#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/device/context.h"
#include "models/graph/builder.h"
#include "models/serving/predictor.h"
#include "models/serving/saved_model.h"
#include "models/serving/testing/overstated_model.h"
#include "models/zoo/vgg.h"
#include "models/zoo/zoo.h"
#include "tensor/files/array_file.h"
#include "tensor/files/atomic_file.h"
#include "tensor/tensor.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

constexpr char kNetwork[] = "models/onnx/import/testdata/squeezenet.onnx";  // 44 x 37, of 4 classes

class ImportProgramTest : public ::testing::Test {
 protected:
  absl::Status Run(ImportFlags flags) {
    if (flags.in.empty()) flags.in = kNetwork;
    flags.out = Out();
    std::ostringstream out;
    const absl::Status status = ImportModelFile(flags, out);
    text_ = out.str();
    return status;
  }
  std::string Out() const { return folder_ + "/out.safetensors"; }
  std::string Names(const std::string& names) const {
    std::ofstream(folder_ + "/names.txt") << names;
    return folder_ + "/names.txt";
  }
  std::string folder_ = testing::NewFolder("import"), text_;
};

TEST_F(ImportProgramTest, TheModelClassifiesImages) {
  const absl::Status status = Run({.final_activation = "softmax",
                                   .class_names = Names("ant\nbee\ncat\ndog\n"),
                                   .mean = {0.485, 0.456, 0.406},
                                   .std = {0.229, 0.224, 0.225}});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(text_, HasSubstr("input (44, 37, 3), output (4,)"));
  EXPECT_THAT(text_, HasSubstr("images: byte / 255, offset -0.485"));
  testing::WriteFile(folder_, "image.png",
                     testing::EncodePng(50, 40, testing::SmoothPixels(50, 40, 3, /*seed=*/1)));
  const auto predictor = Predictor::Load(Out());
  ASSERT_TRUE(predictor.ok()) << predictor.status();
  EXPECT_EQ((*predictor)->output_kind(), OutputKind::kClasses);
  const auto answers = (*predictor)->Classify({folder_ + "/image.png"});
  ASSERT_TRUE(answers.ok()) << answers.status();
  EXPECT_THAT((*answers)[0].name, ::testing::AnyOf("ant", "bee", "cat", "dog"));
}

TEST_F(ImportProgramTest, EachChannelHasItsMeanAndStd) {
  ASSERT_EQ(Run({.mean = {0.25, 0.5, 0.75}, .std = {0.5, 0.25, 0.125}}), absl::OkStatus());
  ArrayFileReader file = *ArrayFileReader::Open(Out());
  const Normalization each = ReadModel(file)->preprocessing.normalization;
  EXPECT_THAT(each.offset, ::testing::ElementsAre(-0.25, -0.5, -0.75));
  EXPECT_THAT(each.scale, ::testing::ElementsAre(2, 4, 8));
  ASSERT_EQ(Run({.mean = {0.25}, .std = {0.5, 0.25, 0.125}}), absl::OkStatus());
  ArrayFileReader mixed = *ArrayFileReader::Open(Out());
  EXPECT_THAT(ReadModel(mixed)->preprocessing.normalization.offset,
              ::testing::ElementsAre(-0.25, -0.25, -0.25));
}

TEST_F(ImportProgramTest, TheSquareInTheMiddleIsShown) {
  const std::vector<uint8_t> wide = testing::SmoothPixels(40, 61, 3, /*seed=*/1);
  const auto part = [&](int left, int side, const std::string& name) {
    std::vector<uint8_t> pixels;
    for (int y = (40 - side) / 2; y < (40 + side) / 2; ++y) {
      const auto row = wide.begin() + (y * 61 + left) * 3;
      pixels.insert(pixels.end(), row, row + side * 3);
    }
    testing::WriteFile(folder_, name, testing::EncodePng(side, side, pixels));
  };
  testing::WriteFile(folder_, "wide.png", testing::EncodePng(40, 61, wide));
  part(10, 40, "square.png");
  part(15, 30, "crop.png");
  const auto answers = [&](const ImportFlags& flags) {
    EXPECT_EQ(Run(flags), absl::OkStatus());
    std::vector<std::vector<double>> values;
    for (const char* name : {"/wide.png", "/square.png", "/crop.png"}) {
      values.push_back((*(*Predictor::Load(Out()))->Classify({folder_ + name}))[0].outputs);
    }
    return values;
  };
  const auto stretched = answers({.crop = 1}), square = answers({.square = true}),
             crop = answers({.square = true, .crop = 0.75});
  EXPECT_THAT(text_, HasSubstr(", the square in the middle, 75 % of each side"));
  EXPECT_NE(stretched[0], stretched[1]);
  EXPECT_EQ(square[0], stretched[1]);
  EXPECT_EQ(square[1], stretched[1]);
  EXPECT_EQ(crop[0], stretched[2]);
  EXPECT_NE(crop[0], square[0]);
}

TEST_F(ImportProgramTest, OptionsThatDoNotFitAreNamed) {
  EXPECT_EQ(ExitCodeOf(Run({.class_names = Names("ant\nbee\n")})), kExitUsage);
  EXPECT_EQ(Run({.class_names = "ant,bee"}).message(),
            "--class-names: ant,bee: there is no such file or folder; expected a file with one "
            "name per line, or a folder with one folder per class");
  EXPECT_EQ(Run({.mean = {1, 2}, .std = {1, 2, 3}}).message(),
            "--mean, --std: have 2 and 3 numbers; expected one, or one per channel");
  EXPECT_EQ(Run({.mean = {1, 2, 3}, .std = {1, 2}}).message(),
            "--mean, --std: have 3 and 2 numbers; expected one, or one per channel");
  EXPECT_EQ(ExitCodeOf(Run({.mean = {1, 2}})), kExitUsage);
  EXPECT_THAT(std::string(Run({.std = {1, 2}}).message()),
              ::testing::StartsWith("--mean, --std: "));
  EXPECT_EQ(Run({.mean = {123.675, 116.28, 103.53}}).message(),
            "--mean: takes 123.675 from values of byte / 255, which are at most 1; a mean of "
            "bytes is divided by 255: 0.485");
  EXPECT_EQ(Run({.input_shape = {3, 44}}).message(),
            "--input-shape: has 2 numbers; expected channels,height,width");
  EXPECT_THAT(std::string(Run({.input_shape = {44, 37, 3}}).message()),
              ::testing::EndsWith(
                  "has 3 elements along axis 1, but the input shape that was given has 44 there, "
                  "of channels,height,width = 44,37,3"));
  const std::string image = folder_ + "/image.png";
  testing::WriteFile(folder_, "image.png",
                     testing::EncodePng(1, 1, testing::SmoothPixels(1, 1, 3)));
  EXPECT_THAT(std::string(Run({.in = image}).message()), HasSubstr("is a PNG image"));
  const std::string model = "models/run/testdata/model.safetensors";
  for (const char* network : {"", "simplecnn"}) {
    EXPECT_EQ(Run({.in = model, .model = network}).message(),
              model +
                  ": is a model already, which predict, serve and benchmark take as it is; "
                  "expected weights of PyTorch");
  }
  std::ofstream(Out()) << "a text";
  EXPECT_EQ(ExitCodeOf(Run({})), kExitFailed);
}

TEST_F(ImportProgramTest, AShortCommandLineIsToldWhatAWholeOneIs) {
  for (const auto& [program, words] :
       {std::pair("import", " net.onnx net.safetensors"),
        std::pair("export", " net.safetensors net.onnx"),
        std::pair("quantize", " net.safetensors net8.safetensors --calibrate=FOLDER"),
        std::pair("predict", " --model-file=net.safetensors cat.jpg")}) {
    const testing::Outcome outcome = testing::Launch(StrCat("apps/", program, "/", program), "");
    EXPECT_EQ(outcome.exit_code, kExitUsage);
    EXPECT_THAT(outcome.text,
                HasSubstr(StrCat("such as: bazel run //apps:", program, " --", words)));
  }
}

// A model's file gives the structure of weights that have none.
TEST_F(ImportProgramTest, WeightsFillTheNetworkOfAModel) {
  const std::string weights = "models/torch/testdata/vgg.pth";
  GraphBuilder b("mine", TensorFormat::kNHWC);
  b.Input({12, 8, 3});
  AppendVgg(b, {.groups = {{1, 4}, {2, 5}}, .hidden = 7}, 4);
  const SavedModel model = {.graph = *b.Softmax().Build()};
  auto host = *DeviceContext::Create(Device::Cpu());
  auto store = *ParameterStore::Create(model.graph, *host, DType::kFloat32, /*seed=*/1);
  const std::string path = folder_ + "/mine.npz";
  ASSERT_TRUE(SaveModel(path, model, *store, *host).ok());
  const absl::Status status = Run({.in = weights, .model = path});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(text_, HasSubstr("vgg.pth: fills 6 layers of mine\n"));
  EXPECT_TRUE(Predictor::Load(Out()).ok());
  EXPECT_THAT(std::string(Run({.in = weights, .model = "vgg16"}).message()),
              HasSubstr("vgg.pth: \"features.0.weight\" has shape (4, 3, 3, 3), but layer 1 "));
  EXPECT_THAT(std::string(Run({.in = weights, .model = kNetwork}).message()),
              HasSubstr(".onnx: is an ONNX model, by its name (a model is made of it by: "));
  EXPECT_EQ(ExitCodeOf(Run({.in = weights})), kExitUsage);
  EXPECT_EQ(ExitCodeOf(Run({.in = weights, .model = "vgg61"})), kExitUsage);
  EXPECT_EQ(ExitCodeOf(Run({.in = kNetwork, .model = path})), kExitUsage);
}

TEST_F(ImportProgramTest, ACropTakesThePlaceOfAllThatTrainingCropped) {
  GraphBuilder b("mine", TensorFormat::kNHWC);
  b.Input({12, 8, 3});
  AppendVgg(b, {.groups = {{1, 4}, {2, 5}}, .hidden = 7}, 4);
  SavedModel model = {.graph = *b.Softmax().Build()};
  const ImageGeometry trained = {.geometry = {.crop = 0.75, .resize = 16},
                                 .side = 16,
                                 .then = {.square = true, .crop = 0.5, .resize = 8}};
  model.preprocessing.geometry = trained;
  auto host = *DeviceContext::Create(Device::Cpu());
  auto store = *ParameterStore::Create(model.graph, *host, DType::kFloat32, /*seed=*/1);
  const std::string path = folder_ + "/cropped.npz";
  ASSERT_EQ(SaveModel(path, model, *store, *host), absl::OkStatus());
  ImportFlags flags = {.in = "models/torch/testdata/vgg.pth", .model = path};
  const auto imported = [&] {
    EXPECT_EQ(Run(flags), absl::OkStatus());
    return (*Predictor::Load(Out()))->model().preprocessing.geometry;
  };
  EXPECT_EQ(imported(), trained);
  flags.square = true;
  ImageGeometry asked = trained;
  asked.geometry.square = true;
  asked.then = {.resize = 8};
  EXPECT_EQ(imported(), asked);
  flags.crop = 1;
  asked.geometry.crop = 1;
  EXPECT_EQ(imported(), asked);
}

TEST_F(ImportProgramTest, RangesOfOtherWeightsAreNotKept) {
  GraphBuilder b("mine", TensorFormat::kNHWC);
  b.Input({12, 8, 3});
  AppendVgg(b, {.groups = {{1, 4}, {2, 5}}, .hidden = 7}, 4);
  SavedModel model = {.graph = *b.Softmax().Build()};
  model.quantization = {.method = "minmax",
                        .samples = 40,
                        .input = model.graph.input_shape().ToString(),
                        .preprocessing = ToJson(model.preprocessing)};
  for (const Node& node : model.graph.nodes()) model.quantization->ranges[node.id] = {-1, 1};
  auto host = *DeviceContext::Create(Device::Cpu());
  auto store = *ParameterStore::Create(model.graph, *host, DType::kFloat32, /*seed=*/1);
  const std::string path = folder_ + "/quantized.safetensors";
  ASSERT_EQ(SaveModel(path, model, *store, *host), absl::OkStatus());
  ASSERT_TRUE(Predictor::Load(path, {.int8 = true}).ok());
  ASSERT_EQ(Run({.in = "models/torch/testdata/vgg.pth", .model = path}), absl::OkStatus());
  EXPECT_THAT(text_, HasSubstr(path + ": its ranges for inference in 8 bits are those of its own "
                                      "weights, and are not kept; quantize finds new ones\n"));
  EXPECT_FALSE((*Predictor::Load(Out()))->model().quantization);
}

TEST_F(ImportProgramTest, TheNetworkOfAModelGetsTheFinalActivation) {
  GraphBuilder b("mine", TensorFormat::kNHWC);
  b.Input({12, 8, 3});
  AppendVgg(b, {.groups = {{1, 4}, {2, 5}}, .hidden = 7}, 4);
  const SavedModel model = {.graph = *b.Build(), .description = {.loss = "mse"}};
  auto host = *DeviceContext::Create(Device::Cpu());
  auto store = *ParameterStore::Create(model.graph, *host, DType::kFloat32, /*seed=*/1);
  const std::string path = folder_ + "/logits.npz";
  ASSERT_EQ(SaveModel(path, model, *store, *host), absl::OkStatus());
  ImportFlags flags = {.in = "models/torch/testdata/vgg.pth", .model = path};
  for (const auto& [word, last, loss] : {std::tuple("none", "FC", "mse"),
                                         {"softmax", "Softmax", "categorical_cross_entropy"},
                                         {"sigmoid", "Sigmoid", "binary_cross_entropy"}}) {
    flags.final_activation = word;
    ASSERT_EQ(Run(flags), absl::OkStatus());
    const auto predictor = *Predictor::Load(Out());
    EXPECT_EQ(predictor->model().graph.nodes().back().layer->type_name(), last);
    EXPECT_EQ(predictor->model().description.loss, loss);
  }
  flags.input_shape = {3, 8, 12};
  EXPECT_THAT(std::string(Run(flags).message()),
              HasSubstr("--input-shape: " + path +
                        " has a network for samples of 12x8x3 (height, "
                        "width, channels); leave it out"));
}

TEST_F(ImportProgramTest, AStructureWithoutItsBatchNormalizationsSaysHowToExportThem) {
  const std::string path = folder_ + "/structure.safetensors",
                    weights = "models/torch/testdata/resnet.pth",
                    advice =
                        "; the structures differ; an export to ONNX multiplies batch "
                        "normalisations into the layers before them. Export the network with "
                        "dynamo=False, training=torch.onnx.TrainingMode.PRESERVE and "
                        "do_constant_folding=False, and import that file for --model";
  for (const bool normalized : {false, true}) {
    GraphBuilder b("mine", TensorFormat::kNHWC);
    b.Input({16, 16, 3});
    b.Conv2d(2, {.kernel = 7, .stride = 2, .padding = 3});
    if (normalized) b.BatchNorm();
    const SavedModel model = {.graph = *b.Flatten().Fc(5).Build()};
    auto host = *DeviceContext::Create(Device::Cpu());
    auto store = *ParameterStore::Create(model.graph, *host, DType::kFloat32, /*seed=*/1);
    ASSERT_EQ(SaveModel(path, model, *store, *host), absl::OkStatus());
    const std::string error(Run({.in = weights, .model = path}).message());
    EXPECT_THAT(error, HasSubstr("; the structures differ"));
    EXPECT_EQ(error.ends_with(advice), !normalized) << error;
  }
}

TEST_F(ImportProgramTest, WeightsOfTorchvisionNameTheNetworkOfItsStructure) {
  const std::string in = folder_ + "/resnet18.safetensors";
  const NamedTensors arrays = {{"conv1.weight", *Tensor::Zeros(DType::kFloat32, {64, 3, 7, 7})}};
  ASSERT_EQ(WriteArrayFile(in, arrays, {}), absl::OkStatus());
  EXPECT_THAT(std::string(Run({.in = in, .model = "resnet18"}).message()),
              ::testing::EndsWith("; torchvision's resnet18 is --model=torchvision_resnet18"));
  for (const char* other : {"simplecnn", "torchvision_resnet18"}) {
    EXPECT_THAT(std::string(Run({.in = in, .model = other}).message()),
                ::testing::AllOf(HasSubstr("resnet18.safetensors: "),
                                 ::testing::Not(HasSubstr("torchvision's"))));
  }
}

// Weights of simplecnn, which has 10 classes, for 7 of them: zeros.
TEST_F(ImportProgramTest, TheNetworkHasTheClassesOfTheWeightsUnlessTheyFillAPart) {
  const Graph graph = *BuildModel("simplecnn", {.format = TensorFormat::kNCHW, .classes = 7});
  NamedTensors arrays;
  for (const Node& node : graph.nodes()) {
    if (node.parameters.empty()) continue;
    const Shape weights = node.parameters[0].shape;
    arrays.emplace_back(
        node.name + ".weight",
        *Tensor::Zeros(DType::kFloat32,
                       weights.rank() == 2 ? Shape({weights[1], weights[0]}) : weights));
    arrays.emplace_back(node.name + ".bias",
                        *Tensor::Zeros(DType::kFloat32, node.parameters[1].shape));
  }
  const std::string in = folder_ + "/seven.safetensors";
  ASSERT_EQ(WriteArrayFile(in, arrays, {}), absl::OkStatus());
  ASSERT_EQ(Run({.in = in, .model = "simplecnn"}), absl::OkStatus());
  EXPECT_THAT(text_, HasSubstr("fills 4 layers of simplecnn\n"));
  EXPECT_THAT(text_, HasSubstr("output (7,)"));
  ASSERT_EQ(Run({.in = in, .model = "simplecnn", .weights_partial = true}), absl::OkStatus());
  EXPECT_THAT(text_, HasSubstr("fills 3 layers of simplecnn\n"));
  EXPECT_THAT(text_, HasSubstr("the layer keeps its initial values\n"));
  EXPECT_THAT(text_, HasSubstr("output (10,)"));
  // As the program does.
  const std::string words = StrCat(in, " ", Out(), " --model=simplecnn ");
  EXPECT_THAT(testing::Launch("apps/import/import", words).text, HasSubstr("output (7,)"));
  EXPECT_THAT(testing::Launch("apps/import/import", words + "--weights-partial").text,
              HasSubstr("output (10,)"));
}

TEST_F(ImportProgramTest, ANetworkOfAFileThatPromisesTooMuchIsRefused) {
  const std::string in = folder_ + "/weights.safetensors", model = folder_ + "/net.safetensors";
  ASSERT_EQ(WriteArrayFile(in, {{"fc.weight", *Tensor::Zeros(DType::kFloat32, {10, 1})}}, {}),
            absl::OkStatus());
  const std::string message = testing::SaveOverstatedModel(model);
  EXPECT_EQ(Run({.in = in, .model = model}).message(), message);
}

int ExitCode(const std::string& arguments) {
  return std::system(("apps/import/import " + arguments + " > /dev/null 2>&1").c_str()) >> 8;
}

int FailRename(std::string_view step) { return step == "rename" ? EIO : 0; }

TEST_F(ImportProgramTest, AModelThatCannotBeWrittenIsAnError) {
  internal::SetFileFaultHookForTesting(FailRename);
  const absl::Status status = Run({});
  internal::SetFileFaultHookForTesting(nullptr);
  EXPECT_THAT(std::string(status.message()), HasSubstr(Out()));
  EXPECT_THAT(text_, ::testing::Not(HasSubstr(Out())));
}

TEST_F(ImportProgramTest, ProgramAnswersWithExitCodes) {
  const std::string in = kNetwork;
  EXPECT_EQ(ExitCode("--help"), 0);
  EXPECT_EQ(ExitCode(in), kExitUsage);
  EXPECT_EQ(ExitCode(in + " " + Out() + " --tensor-format=CHWN"), kExitUsage);
  EXPECT_EQ(ExitCode(folder_ + "/none.onnx " + Out()), kExitFailed);
  EXPECT_EQ(ExitCode(in + " " + Out() + " --tensor-format=NCHW"), 0);
  EXPECT_THAT(
      testing::Launch("apps/import/import", StrCat(in, " ", Out(), " --output=second")).text,
      HasSubstr("has no output \"second\"; its outputs are "));
}

TEST_F(ImportProgramTest, EachFlagSaysWhatItIsCalledAfter) {
  const std::string names = Names("ant\nbee\ncat\ndog\n"), path = folder_ + "/program.safetensors";
  ASSERT_EQ(Run({.format = "NCHW",
                 .input_shape = {3, 44, 37},
                 .final_activation = "softmax",
                 .class_names = names,
                 .mean = {0.25, 0.5, 0.75},
                 .std = {0.5, 0.25, 0.125}}),
            absl::OkStatus());
  const testing::Outcome program = testing::Launch(
      "apps/import/import",
      StrCat(kNetwork, " ", path, " --final-activation=softmax", " --class-names=", names,
             " --mean=0.25,0.5,0.75", " --std=0.5,0.25,0.125 --input-shape=3,44,37",
             " --tensor-format=NCHW"));
  ASSERT_EQ(program.exit_code, 0) << program.text;
  const auto bytes = [](const std::string& file) {
    std::ostringstream contents;
    contents << std::ifstream(file).rdbuf();
    return contents.str();
  };
  EXPECT_TRUE(bytes(path) == bytes(Out()));
}

}  // namespace
}  // namespace dtnn
