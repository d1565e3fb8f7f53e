"""Public architectures with random weights, of torchvision, timm and
transformers: cases() names them all.
"""
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

TORCHVISION = """alexnet convnext_tiny densenet121 efficientnet_b0
    efficientnet_v2_s googlenet inception_v3 maxvit_t mnasnet1_0 mobilenet_v2
    mobilenet_v3_large regnet_x_8gf regnet_y_1_6gf resnet18 resnet101
    resnext50_32x4d shufflenet_v2_x1_0 squeezenet1_1 swin_t swin_v2_t vgg16_bn
    vit_b_32 wide_resnet50_2""".split()
SEGMENTATION = ["deeplabv3_resnet50", "fcn_resnet50",
                "lraspp_mobilenet_v3_large"]
TIMM = """beit_base_patch16_224 cait_xxs24_224 coat_tiny coatnet_0_rw_224
    convmixer_768_32 davit_tiny deit_small_patch16_224 dla34 edgenext_small
    efficientformer_l1 eva02_tiny_patch14_224 fastvit_t8 focalnet_tiny_srf
    ghostnet_100 hiera_tiny_224 hrnet_w18 levit_128 mixer_b16_224 mobileone_s0
    mobilevit_s nfnet_f0 poolformer_s12 pvt_v2_b0 repvgg_a0 resnest50d
    resnetv2_50 seresnet50 tf_efficientnetv2_b0 vit_small_patch14_dinov2
    xcit_tiny_12_p16_224""".split()
# Class, its configuration, its inputs, and non-default settings.
TWO = dict(num_hidden_layers=2)
WIDE = dict(hidden_size=768, num_attention_heads=12, intermediate_size=3072)
GROUPED = dict(hidden_size=1024, num_attention_heads=16, num_key_value_heads=4,
               intermediate_size=2816)
ENCODERS = {
    "albert": ("AlbertModel", WIDE | TWO),
    "bert": ("BertModel", TWO),
    "deberta_v2": ("DebertaV2Model", WIDE | TWO | dict(
        relative_attention=True, pos_att_type=["p2c", "c2p"],
        position_buckets=256)),
    "distilbert": ("DistilBertModel", dict(n_layers=2)),
    "electra": ("ElectraModel", TWO),
    "modernbert": ("ModernBertModel", dict(num_hidden_layers=4)),
    "mpnet": ("MPNetModel", TWO),
    "roberta": ("RobertaModel", TWO),
    "t5": ("T5EncoderModel", dict(num_layers=2)),
}
DECODERS = {
    "bloom": ("BloomForCausalLM", dict(hidden_size=512, n_layer=2, n_head=8)),
    "gemma2": ("Gemma2ForCausalLM", TWO | dict(
        hidden_size=1152, num_attention_heads=4, num_key_value_heads=1,
        head_dim=256, intermediate_size=2304, sliding_window=64)),
    "gpt2": ("GPT2LMHeadModel", dict(n_layer=2)),
    "gpt_neox": ("GPTNeoXForCausalLM", TWO | dict(
        hidden_size=512, num_attention_heads=8, intermediate_size=2048)),
    "llama": ("LlamaForCausalLM", GROUPED | TWO),
    "mamba": ("MambaForCausalLM", TWO | dict(hidden_size=256)),
    "mistral": ("MistralForCausalLM", GROUPED | TWO | dict(sliding_window=64)),
    "opt": ("OPTForCausalLM", TWO),
    "phi3": ("Phi3ForCausalLM", TWO | dict(
        hidden_size=1024, num_attention_heads=16, intermediate_size=2816,
        pad_token_id=0)),
    "qwen2": ("Qwen2ForCausalLM", GROUPED | TWO),
    "qwen3": ("Qwen3ForCausalLM", GROUPED | TWO),
}
SEEING = {
    "clip": ("CLIPVisionModel", TWO, (3, 224, 224)),
    "detr": ("DetrForObjectDetection", dict(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
        backbone_config=None, encoder_layers=2, decoder_layers=2),
        (3, 320, 320)),
    "dinov2": ("Dinov2Model", TWO, (3, 224, 224)),
    "segformer": ("SegformerForSemanticSegmentation", {}, (3, 256, 256)),
    "siglip": ("SiglipVisionModel", TWO, (3, 224, 224)),
    "swin2sr": ("Swin2SRForImageSuperResolution", dict(
        depths=[2, 2], num_heads=[6, 6], embed_dim=180), (3, 64, 64)),
    "vit": ("ViTModel", TWO, (3, 224, 224)),
    "wav2vec2": ("Wav2Vec2Model", TWO, (16000,)),
    "whisper": ("WhisperForAudioClassification", dict(
        encoder_layers=2, encoder_attention_heads=6, d_model=384,
        encoder_ffn_dim=1536), (80, 3000)),
}


class First(nn.Module):
    """The first output of a model with inputs by name."""

    def __init__(self, model: nn.Module, names: list[str], **fixed):
        super().__init__()
        self.model, self.names, self.fixed = model, names, fixed

    def forward(self, *values: Tensor) -> Tensor:
        return self.model(**dict(zip(self.names, values)), **self.fixed)[0]


Case = tuple[nn.Module, tuple[Tensor, ...]]


def vision(name: str, batch: int, size: int = 224) -> Case:
    import torchvision
    options = {}
    if name in ("googlenet", "inception_v3"):
        options = dict(aux_logits=False, init_weights=True)
    if name in SEGMENTATION:
        options = dict(weights_backbone=None)
    model = torchvision.models.get_model(name, weights=None, **options)
    if name in SEGMENTATION:
        model, inner = nn.Module(), model
        model.inner = inner
        model.forward = lambda x: inner(x)["out"]
    return model, (torch.randn(batch, 3, size, size),)


def film(batch: int) -> Case:
    import torchvision
    model = torchvision.models.video.r3d_18(weights=None)
    return model, (torch.randn(batch, 3, 8, 112, 112),)


def image(name: str, batch: int) -> Case:
    import timm
    model = timm.create_model(name, pretrained=False)
    return model, (torch.randn(batch, *model.default_cfg["input_size"]),)


def transformer(batch: int, tokens: int, kind: str, options: dict,
                shape: tuple = (), **fixed) -> Case:
    import transformers
    cls = getattr(transformers, kind)
    config = cls.config_class(**options)
    if shape:
        names, values = [cls.main_input_name], [torch.randn(batch, *shape)]
    else:
        names = ["input_ids", "attention_mask"][:1 if fixed else 2]
        values = [torch.randint(1, config.vocab_size, (batch, tokens)),
                  torch.ones(batch, tokens, dtype=torch.long)][:len(names)]
    model = First(cls(config), names, return_dict=True, **fixed)
    return model, tuple(values)


def cases(batch: int, tokens: int) -> dict[str, Callable[[], Case]]:
    found = {name: partial(vision, name, batch,
                           299 if name == "inception_v3" else 224)
             for name in TORCHVISION}
    found |= {name: partial(vision, name, batch, 256)
              for name in SEGMENTATION}
    found["r3d_18"] = partial(film, batch)
    found |= {name: partial(image, name, batch) for name in TIMM}
    found |= {name: partial(transformer, batch, tokens, *a)
              for name, a in (ENCODERS | SEEING).items()}
    found |= {name: partial(transformer, batch, tokens, *a, use_cache=False)
              for name, a in DECODERS.items()}
    return found


def seeded(build: Callable[[], Case]) -> Case:
    """Seeds weights and inputs, so that they are the same each time."""
    torch.manual_seed(0)
    model, inputs = build()
    for part in model.eval().modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            part.running_mean.normal_(std=0.1)
            part.running_var.uniform_(0.5, 1.5)
    return model, inputs
