// What benchmark --help prints: the launcher's own pages (apps/flags/help.h), and what shells and
// man need to know.

#ifndef DTNN_APPS_LAUNCHER_LAUNCHER_HELP_H_
#define DTNN_APPS_LAUNCHER_LAUNCHER_HELP_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "apps/help/program_text.h"

namespace dtnn {

inline constexpr ProgramText kLauncher = {
    .name = "benchmark",
    .does = "trains or tests a network",
    .text =
        "benchmark [OPTION]...\n"
        "mpirun -np RANKS benchmark --parallel=data [OPTION]...\n"
        "\n"
        "Without options, trains a small convolutional network on Fashion-MNIST. With --model,\n"
        "--dataset and --dataset-path, a network of your choice.\n"
        "\n"
        "  benchmark --model=resnet20_cifar10 --dataset=cifar10 "
        "--dataset-path=cifar-10-binary.tar.gz",
    .ranks = true};

// Usage errors for topics that there are not.
absl::StatusOr<std::string> LauncherHelp(std::string_view topic);

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCHER_LAUNCHER_HELP_H_
