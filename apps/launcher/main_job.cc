#include "apps/launcher/main_job.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_join.h"
#include "data/datasets/mnist.h"
#include "tensor/errors.h"

namespace dtnn {

std::vector<std::string> MainJobArguments() {
  return {"--model=simplecnn",     "--dataset=mnist",  StrCat("--dataset-path=", kFashionMnistPath),
          "--num-epochs=5",        "--optimizer=adam", "--learning-rate=0.001",
          "--optimizer-beta1=0.9", "--evaluate"};
}

std::string MainJobNotice(std::string_view program) {
  return StrCat("No flags given, so this trains simplecnn on Fashion-MNIST, as if by\n  ", program,
                " ", absl::StrJoin(MainJobArguments(), " "),
                "\nCopy that line and change any flag; --help=all lists them.\n"
                "docs/first-lesson.md explains every line below.\n");
}

bool PackagedDataIsInstalled() {
  std::error_code error;
  return std::filesystem::is_directory(kFashionMnistPath, error);
}

absl::Status CheckPackagedData(const Options& options, bool installed) {
  const bool packaged =
      TrainPath(options) == kFashionMnistPath || TestPath(options) == kFashionMnistPath;
  if (options.data.name != "mnist" || !packaged || installed) return absl::OkStatus();
  return NotFound(kFashionMnistPath,
                  ": Fashion-MNIST is not installed; install it with: sudo apt-get install ",
                  "dataset-fashion-mnist, or name other data with --dataset-path");
}

}  // namespace dtnn
