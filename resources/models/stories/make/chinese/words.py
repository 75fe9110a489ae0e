"""The Chinese words of the grammar: people, things with their measure words, animals, places."""

from __future__ import annotations

from dataclasses import dataclass

GIRLS = tuple(
    "小红 小丽 小芳 小梅 小兰 春燕 玉玲 彩云 芳芳 欣欣 丽丽 婷婷 莉莉 娜娜 佳佳 思思 晓燕 秀英 美"
    "玲 雨欣".split()
)
BOYS = tuple(
    "小明 小刚 小强 小军 小伟 天龙 磊磊 俊杰 国华 亮亮 大伟 大勇 阿强 阿明 志强 建国 东东 明明 浩"
    "浩 文杰".split()
)
PETS = tuple("豆豆 球球 毛毛 点点 黑黑 团团 圆圆 旺旺 花花 乐乐".split())

COLOURS = tuple("红色 蓝色 绿色 黄色 白色 黑色 金色 紫色 灰色 粉色 棕色".split())
LOOKS = tuple("大 小 旧 新 圆".split())
ANIMAL_LOOKS = tuple("大 小 老 胖 瘦 懒".split())
MOODS = tuple("高兴 难过 勇敢 骄傲 孤单 开心 着急 安静".split())
COUNTS = tuple("一 两 三 四 五 六 七 八 九 十".split())
"""Numbers before a measure word, from one."""
NUMBERS = tuple("一 二 三 四 五 六 七 八 九 十".split())
DAYS = tuple(f"星期{day}" for day in "一二三四五六日")


@dataclass(frozen=True)
class Person:
    """Somebody with a name, and the pronoun for them."""

    name: str
    female: bool

    def __str__(self) -> str:
        return self.name

    @property
    def ta(self) -> str:
        return "她" if self.female else "他"

    @property
    def child(self) -> str:
        return "女孩" if self.female else "男孩"

    @property
    def parent(self) -> str:
        return "妈妈" if self.female else "爸爸"


@dataclass(frozen=True)
class Noun:
    """A noun with its measure word, and the adjective that it wears in one story (or none)."""

    name: str
    measure: str
    adjective: str = ""

    def __str__(self) -> str:
        return self.name

    @property
    def full(self) -> str:
        """Adjective and noun: 红色球."""
        return self.adjective + self.name

    @property
    def one(self) -> str:
        """With its measure word: 一个红色球."""
        return f"一{self.measure}{self.adjective}{self.name}"

    @property
    def that(self) -> str:
        """Pointed at: 那个球."""
        return f"那{self.measure}{self.name}"


def _nouns(text: str) -> tuple[Noun, ...]:
    """`"本书 把钥匙"`: the measure word is the first character."""
    return tuple(Noun(word[1:], word[0]) for word in text.split())


THINGS = _nouns(
    "个球 只风筝 面鼓 本书 顶帽子 把钥匙 盏灯 个盒子 个杯子 条船 个铃铛 枚戒指 枚硬币 个娃娃 张地"
    "图 个书包 个篮子 支笛子"
    " 把雨伞 条围巾 个闹钟 个贝壳 块石头 根羽毛 条毯子 把勺子 个瓶子 支铅笔 面镜子 幅画 朵花 把椅"
    "子 条裙子 张照片"
)
ANIMALS = _nouns(
    "只猫 只狗 只鸟 只狐狸 只兔子 只鸭子 只青蛙 只老鼠 只猫头鹰 头熊 匹马 只山羊 头牛 只母鸡 只乌"
    "龟 只松鼠 只刺猬 条鱼"
    " 条蛇 只猴子 头大象 头驴 匹骆驼 头猪"
)
FOODS = _nouns(
    "个苹果 个梨 个桃子 块蛋糕 块饼干 颗樱桃 根胡萝卜 个鸡蛋 个包子 颗花生 颗葡萄 个西瓜 个土豆 "
    "根香蕉 个饺子 片面包 颗糖"
)
FRUITS = _nouns("个苹果 个梨 个桃子 颗樱桃 个橙子 个柠檬 颗枣 个石榴")
FLAVOURS = tuple("面包 牛奶 蜂蜜 鸡汤 米饭 果酱 茶叶 盐 豆腐 酱油 面粉 白菜 鸡蛋 苹果 土豆 饼干".split())

PLACES = tuple(
    "公园里 河边 山上 花园里 市场上 森林里 沙滩上 学校里 湖边 农场里 村子里 城堡旁边 图书馆里 桥"
    "上 草地上 海边 城里 院子里".split()
)
SPOTS = tuple(
    "床下面 门后面 架子上 树下面 椅子后面 大门旁边 草丛里 井边 桌子下面 厨房里 屋顶上 墙后面 窗户"
    "旁边 楼梯下面".split()
)
ACTIONS = tuple("唱歌 跑步 跳舞 睡觉 玩耍 游泳 吃饭 散步 休息 等人 看书 画画".split())


@dataclass(frozen=True)
class Reason:
    """A person's state, and the reaction to it."""

    mood: str
    deed: str


REASONS = (
    Reason("累了", "坐下来休息"),
    Reason("累了", "早早地上床睡觉"),
    Reason("冷了", "穿上了厚厚的外衣"),
    Reason("冷了", "坐到火炉旁边"),
    Reason("饿了", "吃了一些面包"),
    Reason("饿了", "又要了一碗汤"),
    Reason("渴了", "喝了一杯水"),
    Reason("很难过", "哭了起来"),
    Reason("很高兴", "唱起歌来"),
    Reason("很高兴", "在雨里跳舞"),
    Reason("困了", "回家睡觉"),
    Reason("很担心", "往窗外看"),
    Reason("很激动", "跳了起来"),
    Reason("很孤单", "写了一封信"),
    Reason("迟到了", "一路跑回家"),
    Reason("很好奇", "打开了盒子"),
)

SYLLABLES = tuple("咕噜哗啦叮咚嘀嗒呼噜吱呀咔嚓轰隆喵汪咩哞呱叽喳嗡")
CHARACTERS = tuple(
    "天地人你我他日月水火山石田土木禾上下左右大小多少风云雨雪花鸟虫鱼春夏秋冬东西南北红黄蓝白手足口耳目"
    "是不为之以中们国子时道出而要于可年生能事其所如作方者无同经法当与进种将分心定主从实本长民得自理体"
    "高己现加量都两机化等部度家电力里关外知意文思第今其让听次真认特书声色光门海空气马车船路远近男女新旧"
)
"""Characters of a first reader, for lines that are only to be repeated."""
