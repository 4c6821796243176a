// The layers that DTNN has, by their type names: what makes a layer of a type and its attributes,
// as files of networks hold them. A new layer is one line of the table in layer_table.cc.

#ifndef DTNN_LAYERS_TABLE_LAYER_TABLE_H_
#define DTNN_LAYERS_TABLE_LAYER_TABLE_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "layers/base/attributes.h"
#include "layers/base/layer.h"

namespace dtnn {

// Never null. What the reader could not read makes a layer that nobody gets to see.
using LayerFactory = std::function<std::shared_ptr<const Layer>(AttributeReader&)>;
// By Layer::type_name(). To read networks with layers of one's own, copy the built-in ones and add.
using LayerTable = std::map<std::string, LayerFactory, std::less<>>;

const LayerTable& BuiltInLayers();

// InvalidArgument for a type that the table does not have, and for attributes that the type does
// not take, naming them. What values are possible is for Layer::OutputShape to say.
absl::StatusOr<std::shared_ptr<const Layer>> MakeLayer(std::string_view type,
                                                       const Attributes& attributes,
                                                       const LayerTable& table = BuiltInLayers());

}  // namespace dtnn

#endif  // DTNN_LAYERS_TABLE_LAYER_TABLE_H_
