// Data sets of Python: by name, or arrays that stay where they are.

#ifndef DTNN_APPS_PYTHON_DATA_H_
#define DTNN_APPS_PYTHON_DATA_H_

#include <memory>

#include "data/dataset.h"

namespace dtnn::python {

struct SharedDataset {
  std::shared_ptr<const Dataset> data;
};

}  // namespace dtnn::python

#endif  // DTNN_APPS_PYTHON_DATA_H_
