#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "apps/conversion/quantize_model.h"
#include "apps/testing/process.h"
#include "comm/ranks/job/exit_code.h"
#include "data/datasets/imagenet/imagenet.h"
#include "data/datasets/imagenet/imagenet_npz.h"
#include "data/datasets/imagenet/imagenet_shard.h"
#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/device/context.h"
#include "models/graph/builder.h"
#include "models/quantization/quantization_record.h"
#include "models/serving/predictor.h"
#include "models/serving/saved_model.h"
#include "models/serving/testing/overstated_model.h"
#include "tensor/files/array_file.h"
#include "tensor/must.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class QuantizeProgramTest : public ::testing::Test {
 protected:
  // A model of images of 6 x 6.
  std::string Model(TensorFormat format = TensorFormat::kNHWC, DType dtype = DType::kFloat32,
                    int64_t channels = 3, const Geometry& geometry = {},
                    const std::vector<std::string>& class_names = {}) {
    GraphBuilder b("net", format);
    b.Input({6, 6, channels}).Conv2d(8, {.padding = 1}).Relu().Conv2d(8).Relu();
    const int64_t outputs = class_names.empty() ? 10 : int64_t(class_names.size());
    SavedModel model = {.graph = *b.Flatten().Fc(outputs).Softmax().Build(), .dtype = dtype};
    model.description.class_names = class_names;
    model.preprocessing = {.normalization = {{-0.5}, {4}}, .geometry = ImageGeometry{geometry}};
    return Save(model);
  }
  // With new parameters; the path.
  std::string Save(const SavedModel& model) const {
    auto device = *DeviceContext::Create(Device::Cpu());
    auto store = *ParameterStore::Create(model.graph, *device, model.dtype, /*seed=*/3);
    const std::string path = folder_ + "/model.safetensors";
    EXPECT_TRUE(SaveModel(path, model, *store, *device).ok());
    return path;
  }
  std::string Images(int count) const {
    const std::string folder = testing::NewFolder("quantize_images");
    for (int i = 0; i < count; ++i) {
      testing::WriteFile(folder, std::to_string(i) + ".png",
                         testing::EncodePng(6, 6, testing::SmoothPixels(6, 6, 3, /*seed=*/i)));
    }
    return folder;
  }
  std::string Out() const { return folder_ + "/out.safetensors"; }

  absl::Status Run(const std::string& model, const std::string& calibrate,
                   const std::string& path = {}, int64_t test_samples = 0) {
    std::ostringstream out;
    const absl::Status status = QuantizeModel({.model = model,
                                               .out = Out(),
                                               .calibrate = calibrate,
                                               .dataset_path = path,
                                               .samples = 20,
                                               .test_samples = test_samples},
                                              out);
    text_ = out.str();
    return status;
  }

  std::string folder_ = testing::NewFolder("quantize"), text_;
};

TEST_F(QuantizeProgramTest, DataThatAreNotThereAreAskedFor) {
  const std::string model = Model(), none = folder_ + "/none";
  for (const char* name : {"cifar10", "folder", "archive", "imagenet"}) {
    EXPECT_EQ(Run(model, name), UsageError("--dataset-path: missing; where are the files of ",
                                           "--calibrate=", name, "?"));
    EXPECT_THAT(std::string(Run(model, name, none).message()),
                ::testing::StartsWith("--dataset-path: " + none));
  }
}

TEST_F(QuantizeProgramTest, AFolderOfImagesIsEnough) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const std::string model = Model(format), images = Images(30);
    const absl::Status status = Run(model, images);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(text_, ::testing::ContainsRegex("1_Conv2D +[0-9.]+ %  int8"));
    EXPECT_THAT(text_,
                HasSubstr("6_FC                                   stays in float32: computes "
                          "the network's output\n"));
    EXPECT_THAT(text_, HasSubstr("20 samples, "));
    EXPECT_EQ(text_.find("NCHW") != std::string::npos, format == TensorFormat::kNCHW);
    const auto quantized = *Predictor::Load(Out(), {.int8 = true});
    EXPECT_EQ(quantized->model().quantization->samples, 20);
    // Its float32 is what it was.
    const std::vector<std::string> files = {images + "/3.png"};
    const auto before = *(*Predictor::Load(model))->Classify(files);
    const auto after = *(*Predictor::Load(Out()))->Classify(files);
    const auto bytes = *quantized->Classify(files);
    for (size_t i = 0; i < 10; ++i) {
      EXPECT_NEAR(before[0].outputs[i], after[0].outputs[i], 1e-5);
      EXPECT_NEAR(before[0].outputs[i], bytes[0].outputs[i], 0.05);
    }
  }
}

// As classes stand in folders, one behind the other.
TEST_F(QuantizeProgramTest, SamplesAreSpreadOverAllImages) {
  const std::string images = testing::NewFolder("quantize_images");
  for (int i = 10; i < 40; ++i) {
    const std::vector<uint8_t> pixels(size_t{6 * 6 * 3}, i < 30 ? 0 : 255);
    testing::WriteFile(images, std::to_string(i) + ".png", testing::EncodePng(6, 6, pixels));
  }
  ASSERT_EQ(Run(Model(), images), absl::OkStatus());  // 20 of 30
  const auto quantized = *Predictor::Load(Out(), {.int8 = true});
  const int input = quantized->model().graph.nodes()[0].id;
  EXPECT_NEAR(quantized->model().quantization->ranges.at(input).high, 2, 0.05)
      << "which white is, less 0.5, times 4";
}

TEST_F(QuantizeProgramTest, AFileThatPromisesTooMuchIsRefused) {
  const std::string model = folder_ + "/overstated.safetensors";
  const std::string message = testing::SaveOverstatedModel(model);
  EXPECT_EQ(Run(model, Images(2)).message(), message);
}

// A data set of 25 training and 11 test samples of 6 x 6.
std::string Digits() {
  const std::string data = testing::NewFolder("quantize_mnist");
  const auto write = [&](const std::string& name, uint32_t count) {
    testing::WriteFile(data, name + "-images-idx3-ubyte",
                       testing::IdxBytes({count, 6, 6}, testing::Elements(36 * count)));
    const std::vector<uint8_t> labels(count, 7);
    testing::WriteFile(data, name + "-labels-idx1-ubyte", testing::IdxBytes({count}, labels));
  };
  write("train", 25);
  write("t10k", 11);
  return data;
}

TEST_F(QuantizeProgramTest, ADataSetSaysHowManyAreRight) {
  const std::string model = Model(TensorFormat::kNHWC, DType::kFloat32, /*channels=*/1);
  const absl::Status status = Run(model, "mnist", Digits());
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(text_, HasSubstr("11 samples, "));
  EXPECT_THAT(text_, ::testing::ContainsRegex("float32 +[0-9.]+ % +[0-9.]+ +\n"
                                              "int8 +[0-9.]+ % +[0-9.]+ +[0-9.]+x\n"));
  ASSERT_TRUE(Run(model, "mnist", Digits(), /*test_samples=*/5).ok());
  EXPECT_THAT(text_,
              ::testing::AllOf(HasSubstr("5 samples, "), ::testing::Not(HasSubstr("11 samples"))));
  ASSERT_TRUE(Run(model, "mnist", Digits(), /*test_samples=*/12).ok());
  EXPECT_THAT(text_, HasSubstr("11 samples, "));
  // One pass over so few takes some microseconds.
  EXPECT_THAT(text_, ::testing::ContainsRegex("; timed in [0-9]+ passes over them\n"));
}

// A data set of folders with the names of classes, whose images are all alike.
std::string Folders(const std::vector<std::string>& classes) {
  const std::string data = testing::NewFolder("quantize_folders");
  for (const std::string split : {"train", "test"}) {
    for (const std::string& name : classes) {
      const std::string folder = data + "/" + split + "/" + name;
      std::filesystem::create_directories(folder);
      for (int i = 0; i < 4; ++i) {
        testing::WriteFile(folder, std::to_string(i) + ".png",
                           testing::EncodePng(6, 6, testing::SmoothPixels(6, 6, 3, /*seed=*/i)));
      }
    }
  }
  return data;
}

// Files of ImageNet as they are converted: two images to train on, the same two to test with.
std::string Shards() {
  const std::string data = testing::NewFolder("quantize_imagenet");
  ImagenetShard shard = Must(ImagenetShard::Create(2));
  for (int i = 0; i < 2; ++i) {
    Must(shard.Add(testing::EncodePng(40, 30, testing::SmoothPixels(40, 30, 3, i)), i + 1, "a"));
  }
  Must(shard.Write(data + "/train-0.npz", "a test"));
  Must(shard.Write(data + "/test-0.npz", "a test"));
  return data;
}

// A network for images of side x side pixels, which were preprocessed so.
SavedModel ImagenetModel(int64_t side, const Preprocessing& preprocessing) {
  GraphBuilder b("net", TensorFormat::kNHWC);
  b.Input({side, side, 3}).Conv2d(4, {.kernel = 8, .stride = 8}).Relu().Conv2d(4);
  return {.graph = *b.AdaptiveAveragePool2d(1).Flatten().Fc(1000).Softmax().Build(),
          .preprocessing = preprocessing};
}

// Whose network takes a part of images that were cropped and resized when the files were written.
TEST_F(QuantizeProgramTest, ImagenetsFilesAreTakenAsTheyAre) {
  const std::string data = Shards();
  for (const int64_t side : {224, 227}) {
    const auto trained = Must(OpenImagenetNpz({.train = data, .whole = side == 227}));
    const absl::Status status =
        Run(Save(ImagenetModel(side, trained->preprocessing())), "imagenet", data);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_THAT(text_, HasSubstr("2 samples"));
  }
}

// Their 224 or 227 pixels are those of training, not those of the network.
TEST_F(QuantizeProgramTest, ImagenetsFilesThatTrainingResizedAreTakenSoAgain) {
  const std::string data = Shards();
  for (const bool whole : {false, true}) {
    for (const int64_t side : {64, whole ? 224 : 227}) {
      const auto trained =
          Must(OpenImagenet({.train = data, .geometry = {.resize = side}, .whole = whole}));
      const absl::Status status =
          Run(Save(ImagenetModel(side, trained->preprocessing())), "imagenet", data);
      EXPECT_TRUE(status.ok()) << status;
    }
  }
}

TEST_F(QuantizeProgramTest, ClassesAreMatchedByTheirNames) {
  const std::string model =
      Model(TensorFormat::kNHWC, DType::kFloat32, /*channels=*/3, {}, {"blue", "green", "red"});
  const auto accuracy = [&] {
    const size_t begin = text_.find("float32 ", text_.find("accuracy"));
    return std::atof(text_.c_str() + begin + 8);
  };
  // One class alone: its share of the answers. All three shares make the whole.
  double sum = 0;
  for (const std::string name : {"red", "green", "blue"}) {
    const absl::Status status = Run(model, "folder", Folders({name}));
    ASSERT_TRUE(status.ok()) << status;
    sum += accuracy();
  }
  EXPECT_DOUBLE_EQ(sum, 100);
  EXPECT_EQ(Run(model, "folder", Folders({"green", "z_blue"})).message(),
            "--calibrate=folder: data set folder has the classes 2 (\"green\", \"z_blue\"), "
            "which do not fit 3 (\"blue\", \"green\", \"red\")");
}

TEST_F(QuantizeProgramTest, WhatCannotBeQuantizedIsRefused) {
  const std::string model = Model(), empty = testing::NewFolder("quantize_empty");
  EXPECT_EQ(Run(model, empty).message(),
            "--calibrate=" + empty +
                ": contains no JPEG or PNG images, and is not the name of a data set "
                "(--calibrate=list shows them)");
  EXPECT_EQ(Run(model, "mnsit").message(),
            "--calibrate=mnsit: is neither the name of a data set nor a folder; did you mean "
            "\"mnist\"? (--calibrate=list shows data sets)");
  EXPECT_EQ(Run(model, Images(1)).message(),
            model +
                ": one sample is too little to find ranges with; some hundreds that differ are "
                "usual");
  EXPECT_EQ(ExitCodeOf(Run(model, "mnist", empty)), kExitFailed);
  EXPECT_THAT(
      std::string(Run(model, "synthetic").message()),
      HasSubstr("its samples are 32x32x3 with 10 outputs; model net takes 6x6x3 and has 10"));
  EXPECT_THAT(std::string(Run(Model(TensorFormat::kNHWC, DType::kFloat32, /*channels=*/1,
                                    {.crop = 0.5, .resize = 6}),
                              "mnist", Digits())
                              .message()),
              HasSubstr("--calibrate=mnist: its samples are preprocessed in another way ("));
  const std::string image = Images(2) + "/0.png";
  EXPECT_THAT(std::string(Run(image, empty).message()), HasSubstr("is a PNG image"));
  EXPECT_EQ(Run(Model(TensorFormat::kNHWC, DType::kFloat64), empty).message(),
            model + ": has float64 parameters; 8 bits are for models of float32");
}

// Before the work, which takes minutes.
TEST_F(QuantizeProgramTest, AFileOfAnotherKindIsNotReplaced) {
  const std::string model = Model(), images = Images(3);
  std::ofstream(Out()) << "a letter";
  EXPECT_EQ(ExitCodeOf(Run(model, images)), kExitFailed);
  EXPECT_EQ(text_, "") << "nothing was computed";
  std::ostringstream contents;
  contents << std::ifstream(Out()).rdbuf();
  EXPECT_EQ(contents.str(), "a letter");
}

int ExitCode(const std::string& arguments) {
  return std::system(("apps/quantize/quantize " + arguments + " > /dev/null 2>&1").c_str()) >> 8;
}

TEST_F(QuantizeProgramTest, ProgramAnswersWithExitCodes) {
  const std::string model = Model();
  EXPECT_EQ(ExitCode("--help"), 0);
  EXPECT_EQ(ExitCode("--calibrate=list"), 0);
  EXPECT_EQ(ExitCode(model + " --calibrate=" + Images(3)), kExitUsage);
  EXPECT_EQ(ExitCode(model + " " + Out()), kExitUsage);
  EXPECT_EQ(ExitCode(model + " " + Out() + " --calibrate=" + Images(3) + " --method=median"),
            kExitUsage);
  EXPECT_EQ(ExitCode(model + " " + Out() + " --calibrate=" + Images(3)), 0);
}

TEST_F(QuantizeProgramTest, EachFlagSaysWhatItIsCalledAfter) {
  const std::string model = Model(TensorFormat::kNHWC, DType::kFloat32, /*channels=*/1);
  const std::string call =
      model + " " + Out() + " --calibrate=mnist --dataset-path=" + Digits() + " --batch-size=4";
  const testing::Outcome some = testing::Launch(
      "apps/quantize/quantize", call + " --samples=20 --test-samples=7 --method=entropy");
  ASSERT_EQ(some.exit_code, 0) << some.text;
  EXPECT_THAT(some.text, HasSubstr("\n7 samples, "));
  EXPECT_THAT(some.text, ::testing::ContainsRegex("1_Conv2D +[0-9.]+ %  int8"));
  const QuantizationRecord record = *(*Predictor::Load(Out()))->model().quantization;
  EXPECT_EQ(record.samples, 20);
  EXPECT_EQ(record.method, "entropy");
  const testing::Outcome none =
      testing::Launch("apps/quantize/quantize", call + " --largest-error=0");
  ASSERT_EQ(none.exit_code, 0) << none.text;
  EXPECT_THAT(none.text, HasSubstr("\n11 samples, "));
  EXPECT_THAT(none.text, ::testing::ContainsRegex("1_Conv2D +[0-9.]+ %  stays in float32"));
}

}  // namespace
}  // namespace dtnn
