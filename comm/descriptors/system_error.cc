#include "comm/descriptors/system_error.h"

#include <cerrno>
#include <cstring>

#include "tensor/errors.h"

namespace dtnn {

absl::Status SystemError(std::string_view what, int error) {
  if (error == EMFILE) {
    return ResourceExhausted(what, ": ", strerror(error),
                             "; raise this process's limit of open files (ulimit -n)");
  }
  const bool exhausted = error == ENFILE || error == ENOBUFS || error == ENOMEM;
  return exhausted ? ResourceExhausted(what, ": ", strerror(error))
                   : Unavailable(what, ": ", strerror(error));
}

}  // namespace dtnn
