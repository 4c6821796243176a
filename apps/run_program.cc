#include "apps/run_program.h"

#include <algorithm>
#include <iostream>
#include <new>

#include "absl/strings/str_cat.h"
#include "apps/exit_code.h"

namespace dtnn {

int RunProgram(std::string_view name, int argc, char** argv, std::string_view advice,
               absl::FunctionRef<absl::Status(const std::vector<std::string>&)> run) {
  absl::Status status;
  try {
    status = run({argv + std::min(argc, 1), argv + argc});
  } catch (const std::bad_alloc&) {  // of the standard library's containers
    status = absl::ResourceExhaustedError(absl::StrCat("no memory left; ", std::string(advice)));
  }
  std::cout.flush();
  return ReportStatus(status, name, std::cerr);
}

}  // namespace dtnn
